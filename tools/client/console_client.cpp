#include "tools/client/console_client.hpp"

#include <nlohmann/json.hpp>

namespace troupe {

console_client::console_client(const cluster_spec& cluster) : cluster_(cluster), lane_(cluster) {}

console_reply console_client::send(node_id node, const std::string& verb, const std::string& argument) {
  return lane_.ask(cluster_.nodes[node.value], command{1, verb, argument});
}

nlohmann::json console_client::query(node_id node, const std::string& verb) {
  const auto r = send(node, verb);
  auto answer = r.ok ? nlohmann::json::parse(r.body, nullptr, false) : nlohmann::json();
  if (answer.is_object()) return answer;
  return {{"node", node_name(cluster_, node)}, {"error", r.ok ? "not JSON" : r.body}};
}

console_reply console_client::order(node_id via, const std::string& verb, const std::string& actor,
                                    const std::string& type, const nlohmann::json& fields) {
  return send(via, verb, nlohmann::json{{"actor", actor}, {"type", type}, {"fields", fields}}.dump());
}

node_id console_client::first_up() {
  node_id id;
  const auto answers = [&] {
    const auto console = "console@" + node_name(cluster_, id);
    return order(id, "ask", console, "get_state", nlohmann::json::object()).ok;
  };
  while (id.value < cluster_.nodes.size() && !answers()) ++id.value;
  return id;
}

}  // namespace troupe
