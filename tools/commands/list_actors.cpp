#include "tools/commands/list_actors.hpp"

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "actors/kinds/registry.hpp"
#include "messages/cluster/find_node.hpp"
#include "messages/commands/command_schema.hpp"
#include "messages/common/json_text.hpp"
#include "tools/client/console_client.hpp"
#include "tools/commands/screen.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

struct sample {
  time_point at;
  std::vector<nlohmann::json> nodes;
};

sample take_sample(console_client& consoles, const std::vector<node_id>& nodes, const clock& time) {
  sample s;
  for (const auto n : nodes) s.nodes.push_back(consoles.query(n, "actors"));
  s.at = time.now();
  return s;
}

/// Adds to each actor of `now` its messages a second since `before`.
nlohmann::json document(const cluster_spec& cluster, const sample& before, const sample& now) {
  nlohmann::json doc{{"cluster", cluster.name}, {"nodes", now.nodes}};
  std::map<std::pair<uint64_t, std::string>, uint64_t> earlier;  // by incarnation: a later one starts at 0
  for (const auto& n : before.nodes)
    for (const auto& a : n.value("actors", nlohmann::json::array()))
      earlier[{n["incarnation"].get<uint64_t>(), a["name"].get<std::string>()}] =
          a["messages"].get<uint64_t>();
  const double seconds = to_seconds(now.at - before.at);
  for (auto& n : doc["nodes"]) {
    if (!n.contains("actors")) continue;
    for (auto& a : n["actors"]) {
      const auto it = earlier.find({n["incarnation"].get<uint64_t>(), a["name"].get<std::string>()});
      const auto total = a["messages"].get<uint64_t>();
      const auto since = it == earlier.end() || it->second > total ? 0 : it->second;
      a["messages_per_s"] = it == earlier.end() ? 0.0 : static_cast<double>(total - since) / seconds;
    }
  }
  return doc;
}

std::string table(const nlohmann::json& doc) {
  auto out =
      fmt::format("{:<28} {:<14} {:<12} {:>9} {:>12} {:>12} {:>12} {:>9}  {}\n", "actor", "state", "model",
                  "pending", "in mailbox", "messages", "messages/s", "restarts", "last error");
  for (const auto& n : doc["nodes"]) {
    if (n.contains("error")) {
      out += fmt::format("{:<28} {}\n", "*@" + n["node"].get<std::string>(), n["error"].get<std::string>());
      continue;
    }
    for (const auto& a : n["actors"])
      out += fmt::format("{:<28} {:<14} {:<12} {:>9} {:>12} {:>12} {:>12.1f} {:>9}  {}\n",
                         a["name"].get<std::string>(), a["state"].get<std::string>(), a.value("model", ""),
                         a["pending"].get<uint64_t>(), a["mailbox_pending"].get<uint64_t>(),
                         a["messages"].get<uint64_t>(), a["messages_per_s"].get<double>(),
                         n["restarts"].get<uint32_t>(), n["last_error"].get<std::string>());
  }
  return out;
}

bool all_answered(const nlohmann::json& doc) {
  for (const auto& n : doc["nodes"])
    if (n.contains("error")) return false;
  return true;
}

}  // namespace

int list_actors(const cluster_spec& cluster, const list_actors_options& options) {
  std::vector<node_id> nodes;
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (options.node.empty() || cluster.nodes[i].name == options.node) nodes.push_back(node_id{i});
  if (nodes.empty()) {
    report("troupe: {}", no_such_node(cluster, options.node));
    return exit_bad_input;
  }
  const machine_clock time;
  console_client consoles(cluster);
  screen terminal(options.watch && !options.json);
  auto before = take_sample(consoles, nodes, time);
  for (;;) {
    if (!terminal.wait(options.watch ? std::max(options.interval, duration{1s}) : options.interval))
      return exit_done;
    auto now = take_sample(consoles, nodes, time);
    const auto doc = document(cluster, before, now);
    if (options.json)
      fmt::print("{}\n", json_text(doc, options.watch ? -1 : 2));
    else
      terminal.show(table(doc));
    std::fflush(stdout);
    if (!options.watch) return all_answered(doc) ? exit_done : exit_failed;
    before = std::move(now);
  }
}

int print_actor_kinds(bool json) {
  if (!json) {
    fmt::print("{}", actor_kind_table());
    return exit_done;
  }
  auto kinds = nlohmann::json::array();
  for (const auto* k : actor_kinds()) {
    auto commands = nlohmann::json::array();
    const auto schema = command_schema(k->kind);
    for (const auto& [command, _] : schema.items()) commands.push_back(command);
    kinds.push_back({{"kind", to_string(k->kind)},
                     {"one_per", k->one_per},
                     {"does", k->does},
                     {"commands", std::move(commands)}});
  }
  fmt::print("{}\n", json_text(kinds, 2));
  return exit_done;
}

}  // namespace troupe
