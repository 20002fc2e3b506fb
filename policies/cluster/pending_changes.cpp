#include "policies/cluster/pending_changes.hpp"

#include <algorithm>
#include <string>

#include "policies/cluster/deployment_status.hpp"

namespace troupe {

void pending_changes::add(const deployment& line, time_point until, answer reply) {
  waiting_.push_back({line.model, line.wanted, line.joining, until, std::move(reply)});
}

change_reply pending_changes::status_of_change(const pending& p, const deployment& line,
                                               const deployment_progress& progress) const {
  auto status = status_of(line, progress, cluster_);
  const auto fail = [&](const std::string& why) {
    status.ok = status.complete = false;
    status.detail = "model '" + line.definition.name + "' " + why;
  };
  const bool deploys = p.wanted == deployment_state::deployed;
  if (deploys != (line.wanted == deployment_state::deployed))
    fail(deploys ? "was undeployed meanwhile" : "was deployed again meanwhile");
  if (status.ok && p.joining != no_domain && !line.moves() && line.domain != p.joining)
    fail("stays in its domain; the reason is in the log of node '" + node_name(cluster_, self_) + "'");
  return status;
}

std::vector<std::pair<pending_changes::answer, change_reply>> pending_changes::take_ended(
    const deployment_table& table, const deployment_progress& progress, time_point now) {
  std::vector<std::pair<answer, change_reply>> out;
  std::erase_if(waiting_, [&](pending& p) {
    auto status = status_of_change(p, table.at(p.model), progress);
    if (status.ok && !status.complete && now < p.until) return false;
    out.emplace_back(std::move(p.reply), std::move(status));
    return true;
  });
  return out;
}

time_point pending_changes::next_due() const {
  auto next = never;
  for (const auto& p : waiting_) next = std::min(next, p.until);
  return next;
}

std::vector<pending_changes::answer> pending_changes::take_all() {
  std::vector<answer> out;
  for (auto& p : std::exchange(waiting_, {})) out.push_back(std::move(p.reply));
  return out;
}

}  // namespace troupe
