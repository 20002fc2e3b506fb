#include "policies/cluster/deployment_table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace troupe {

deployment_table::deployment_table(const std::vector<model_spec>& of_the_file, size_t max_models)
    : file_models_(of_the_file.size()), max_models_(max_models) {
  for (uint32_t i = 0; i < of_the_file.size(); ++i)
    lines_[model_id{i}] = {0, model_id{i}, deployment_state::deployed, of_the_file[i], of_the_file[i].domain};
}

const deployment* deployment_table::find(std::string_view name) const {
  if (name.empty()) return nullptr;  // as forgotten lines are called
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
  const auto deployed = std::ranges::count_if(
      lines_, [](const auto& l) { return l.second.wanted != deployment_state::undeployed; });
  if (static_cast<size_t>(deployed) >= max_models_)
    return {nullptr, false,
            std::to_string(deployed) + " models are deployed, as many as models in the [limits] of the " +
                "cluster file allows; undeploy one, or raise it"};
  for (const auto& [id, line] : lines_)
    if (line.definition == definition)
      return write({0, id, deployment_state::deployed, definition, line.domain});
  if (lines_.size() >= max_ids)
    return {nullptr, false,
            std::to_string(max_ids) + " different models have been deployed since the cluster was started; " +
                "restart it"};
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

std::optional<model_id> deployment_table::forgettable() const {
  const deployment* oldest = nullptr;
  size_t kept = 0;
  for (auto l = lines_.lower_bound(model_id{static_cast<uint32_t>(file_models_)}); l != lines_.end(); ++l) {
    const auto& line = l->second;
    if (line.wanted != deployment_state::undeployed || line.forgotten()) continue;
    ++kept;
    if (oldest == nullptr || line.revision < oldest->revision) oldest = &line;
  }
  if (kept <= max_models_) return {};
  return oldest->model;
}

const deployment& deployment_table::forget(model_id model) {
  auto line = lines_.at(model);
  assert(line.wanted == deployment_state::undeployed);
  line.definition = {};
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
