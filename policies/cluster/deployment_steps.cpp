#include "policies/cluster/deployment_steps.hpp"

#include <algorithm>

namespace troupe {
namespace {

bool retires(const deployment& line) { return line.wanted == deployment_state::retiring; }
bool moves(const deployment& line) { return line.wanted == deployment_state::deployed && line.moves(); }

}  // namespace

bool has_steps_left(const deployment_table& table) {
  return std::any_of(table.lines().begin(), table.lines().end(),
                     [](const auto& l) { return retires(l.second) || moves(l.second); }) ||
         table.forgettable();
}

std::vector<deployment_step> take_steps(deployment_table& table, const deployment_progress& progress) {
  std::vector<model_id> retired, moving;
  for (const auto& [id, line] : table.lines()) {
    if (retires(line) && progress.complete(line)) retired.push_back(id);
    if (moves(line)) moving.push_back(id);
  }
  std::vector<deployment_step> out;
  for (const auto id : retired) out.push_back({table.retired(id), {}});
  for (const auto id : moving) {
    const auto& line = table.at(id);
    if (progress.complete(line)) {
      out.push_back({table.moved_on(id), {}});
    } else if (const auto problem = progress.problem(line); problem && line.joining != no_domain) {
      const auto domain = line.joining;
      out.push_back({table.stay(id), deployment_step::failed_move{domain, problem->node, problem->what}});
    }
  }
  if (const auto id = table.forgettable(); id && progress.complete(table.at(*id)))
    out.push_back({table.forget(*id), {}});
  return out;
}

}  // namespace troupe
