#include "tools/commands/change_models.hpp"

#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "config/setting.hpp"
#include "messages/cluster/find_node.hpp"
#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"
#include "tools/client/control_client.hpp"
#include "tools/client/find_leader.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

duration as_duration(double seconds) { return from_ms(seconds * 1e3); }

int tell_outcome(bool good, bool complete, uint64_t revision, const std::string& detail, bool json) {
  if (json)
    fmt::print("{}\n",
               json_text(nlohmann::json{
                   {"ok", good}, {"complete", complete}, {"revision", revision}, {"detail", detail}}));
  else
    fmt::print(good ? stdout : stderr, "troupe: {}\n", detail);
  return good ? exit_done : exit_failed;
}

node_id current_leader(control_client& client, const cluster_spec& cluster) {
  return find_leader(cluster, [&](node_id n) -> nlohmann::json {
    const auto said = client.ask(cluster.nodes[n.value], command{1, "status", ""});
    return said.ok ? nlohmann::json::parse(said.body) : nlohmann::json{};
  });
}

/// The incarnation of a node, in its answer to "status".
uint64_t incarnation_in(const std::string& status) {
  return nlohmann::json::parse(status).at("incarnation").get<uint64_t>();
}

template <class Change>
int change(const cluster_spec& cluster, const Change& c, duration wait, const change_options& options) {
  control_client client(cluster);
  const auto& node = cluster.nodes[current_leader(client, cluster).value];
  // A scheduler that has just started decides only after three node timeouts.
  const auto timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(wait + 3 * cluster.limits.node_timeout + 10s);
  const auto said = client.ask(node, command{1, Change::type_name, json_text(to_json(c))}, timeout);
  if (!said.ok)
    return tell_outcome(false, false, 0, fmt::format("node '{}': {}", node.name, said.body), options.json);
  const auto r = from_json<change_reply>(nlohmann::json::parse(said.body));
  const bool in_time = wait <= duration{} || r.complete;
  const auto late = r.ok && !in_time ? fmt::format("; not done within {} s", to_seconds(wait)) : "";
  return tell_outcome(r.ok && in_time, r.complete, r.revision, r.detail + late, options.json);
}

}  // namespace

int deploy_model(const cluster_spec& cluster, const model_options& model, const change_options& options) {
  const auto reading = read_model(model, cluster);
  for (const auto& p : reading.problems) report("{}", to_string(p));
  if (!reading.ok()) return exit_bad_input;
  const auto wait = as_duration(options.wait_s);
  return change(cluster, deploy{1, to_toml(reading.effective), wait}, wait, options);
}

int undeploy_model(const cluster_spec& cluster, const std::string& model, const change_options& options) {
  const auto wait = as_duration(options.wait_s);
  return change(cluster, undeploy{1, model, wait}, wait, options);
}

int migrate_model(const cluster_spec& cluster, const std::string& model, const std::string& domain,
                  const change_options& options) {
  const auto wait = as_duration(options.wait_s);
  return change(cluster, move_model{1, model, domain, wait}, wait, options);
}

int drain_one(const cluster_spec& cluster, const std::string& node, const change_options& options) {
  const auto found = find_node(cluster, node);
  if (!found) {
    report("troupe: {}", no_such_node(cluster, node));
    return exit_bad_input;
  }
  control_client client(cluster);
  const auto status = [&] { return client.ask(cluster.nodes[found->value], command{2, "status", ""}); };
  const auto drained = status();
  const auto said = client.ask(cluster.nodes[found->value],
                               command{1, drain_node::type_name, json_text(to_json(drain_node{1, node}))},
                               std::chrono::seconds(10));
  if (!said.ok)
    return tell_outcome(false, false, 0, fmt::format("node '{}': {}", node, said.body), options.json);
  const auto r = from_json<change_reply>(nlohmann::json::parse(said.body));
  if (!r.ok || options.wait_s <= 0) return tell_outcome(r.ok, false, 0, r.detail, options.json);
  const auto end = std::chrono::steady_clock::now() + as_duration(options.wait_s);
  const auto has_left = [&](const console_reply& now) {  // it may have been started again since
    if (!now.ok) return now.how == delivery_state::absent;
    return drained.ok && incarnation_in(now.body) != incarnation_in(drained.body);
  };
  for (auto now = status(); !has_left(now); now = status()) {
    if (std::chrono::steady_clock::now() > end) {
      const auto seen = now.ok ? "it still runs" : now.body + ", and may still run,";
      return tell_outcome(false, false, 0, fmt::format("{}; {} after {} s", r.detail, seen, options.wait_s),
                          options.json);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return tell_outcome(true, true, 0, fmt::format("node '{}' has left", node), options.json);
}

}  // namespace troupe
