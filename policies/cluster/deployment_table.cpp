#include "policies/cluster/deployment_table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace troupe {

deployment_table::deployment_table(const std::vector<model_spec>& of_the_file, size_t max_lines)
    : max_lines_(max_lines) {
  for (uint32_t i = 0; i < of_the_file.size(); ++i)
    lines_[model_id{i}] = {0, model_id{i}, deployment_state::deployed, of_the_file[i], of_the_file[i].domain};
}

const deployment* deployment_table::find(std::string_view name) const {
  const deployment* newest = nullptr;
  for (const auto& [id, line] : lines_)
    if (line.definition.name == name && (newest == nullptr || line.revision >= newest->revision))
      newest = &line;
  return newest;
}

deployment_table::decision deployment_table::write(deployment line) {
  line.revision = ++revision_;
  auto& kept = lines_[line.model] = std::move(line);
  return {&kept, true, {}};
}

deployment_table::decision deployment_table::deploy(const model_spec& definition) {
  const auto quoted = "model '" + definition.name + "'";
  if (const auto* known = find(definition.name)) {
    if (known->wanted == deployment_state::retiring)
      return {nullptr, false, quoted + " is still being undeployed; try again"};
    if (known->wanted == deployment_state::deployed) {
      if (known->definition == definition) return {known, false, {}};
      return {nullptr, false, quoted + " is deployed with another definition; undeploy it first"};
    }
  }
  for (const auto& [id, line] : lines_)
    if (line.definition == definition)
      return write({0, id, deployment_state::deployed, definition, line.domain});
  if (lines_.size() >= max_lines_)
    return {nullptr, false,
            "the log holds " + std::to_string(lines_.size()) + " models, those undeployed included; raise " +
                "models in the [limits] of the cluster file"};
  const auto next = lines_.empty() ? 0 : lines_.rbegin()->first.value + 1;
  return write({0, model_id{next}, deployment_state::deployed, definition, definition.domain});
}

deployment_table::decision deployment_table::redeploy(std::string_view name) {
  const auto* known = find(name);
  if (known == nullptr) return {nullptr, false, "no model '" + std::string(name) + "' has been deployed"};
  return deploy(model_spec{known->definition});
}

deployment_table::decision deployment_table::undeploy(std::string_view name) {
  const auto* known = find(name);
  if (known == nullptr) return {nullptr, false, "no model '" + std::string(name) + "' is deployed"};
  if (known->wanted != deployment_state::deployed) return {known, false, {}};
  auto line = *known;
  line.wanted = deployment_state::retiring;
  return write(std::move(line));
}

deployment_table::decision deployment_table::move(std::string_view name, uint32_t domain) {
  const auto* known = find(name);
  const auto quoted = "model '" + std::string(name) + "'";
  if (known == nullptr || known->wanted != deployment_state::deployed)
    return {nullptr, false, "no model '" + std::string(name) + "' is deployed"};
  if (known->joining == domain || (known->domain == domain && known->joining == no_domain))
    return {known, false, {}};
  if (known->moves()) return {nullptr, false, quoted + " is still being moved; try again"};
  auto line = *known;
  line.joining = domain;
  return write(std::move(line));
}

const deployment& deployment_table::moved_on(model_id model) {
  auto line = lines_.at(model);
  assert(line.moves());
  if (line.joining != no_domain)
    line.leaving = std::exchange(line.domain, std::exchange(line.joining, no_domain));
  else
    line.leaving = no_domain;
  return *write(std::move(line)).line;
}

const deployment& deployment_table::stay(model_id model) {
  auto line = lines_.at(model);
  assert(line.joining != no_domain);
  line.joining = no_domain;
  return *write(std::move(line)).line;
}

const deployment& deployment_table::retired(model_id model) {
  auto line = lines_.at(model);
  assert(line.wanted == deployment_state::retiring);
  line.wanted = deployment_state::undeployed;
  line.joining = line.leaving = no_domain;
  return *write(std::move(line)).line;
}

std::vector<model_id> deployment_table::merge(const deployment_log& theirs, bool from_scheduler) {
  std::vector<model_id> changed;
  for (const auto& line : theirs.models) {
    const auto mine = lines_.find(line.model);
    if (mine != lines_.end()) {
      if (line.revision < mine->second.revision) continue;
      if (line.revision == mine->second.revision && (!from_scheduler || line == mine->second)) continue;
    }
    lines_[line.model] = line;
    revision_ = std::max(revision_, line.revision);
    changed.push_back(line.model);
  }
  std::sort(changed.begin(), changed.end());
  return changed;
}

deployment_log deployment_table::changes() const {
  deployment_log out;
  for (const auto& [id, line] : lines_)
    if (line.revision > 0) out.models.push_back(line);
  return out;
}

}  // namespace troupe
