#include "tools/client/leading_pool.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "messages/commands/commands.hpp"
#include "messages/wire/json.hpp"

namespace troupe {

console_reply leading_pool::ask(node_id node, const std::string& type, const nlohmann::json& fields) {
  return consoles_.order(node, "ask", fmt::format("parameter_pool@{}", node_name(cluster_, node)), type,
                         fields);
}

console_reply leading_pool::order(const scale_model& order) {
  console_reply last{{0, false, "no node of the cluster answers; start it with troupe up"},
                     delivery_state::absent};
  for (const auto node : leader_candidates(cluster_)) {
    auto said = ask(node, std::string(scale_model::type_name), to_json(order));
    const bool follows = !said.ok && said.body.ends_with("is not the leader");
    if (said.ok || !(follows || said.not_delivered())) return said;
    last = std::move(said);
  }
  return last;
}

std::optional<parameter_pool_state> leading_pool::state() {
  for (const auto node : leader_candidates(cluster_)) {
    const auto said = ask(node, std::string(get_state::type_name), to_json(get_state{}));
    if (!said.ok) continue;
    auto s = from_json<parameter_pool_state>(nlohmann::json::parse(said.body));
    if (s.leads) return s;
  }
  return {};
}

std::string instance_name(const std::string& model, uint32_t engine, const std::string& node) {
  return fmt::format("{}/{}@{}", model, engine, node);
}

nlohmann::json instances_of(const parameter_pool_state& s, const std::string& model) {
  auto out = nlohmann::json::array();
  for (const auto& i : s.instances)
    if (model.empty() || i.model == model)
      out.push_back({{"name", instance_name(i.model, i.engine, i.node)},
                     {"model", i.model},
                     {"engine", i.engine},
                     {"node", i.node},
                     {"stage", i.stage},
                     {"phase", i.phase}});
  return out;
}

}  // namespace troupe
