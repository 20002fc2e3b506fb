#include "tools/status.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/control_client.hpp"

namespace troupe {
namespace {

/// A node's own account, or {"node", "error"}.
nlohmann::json ask(control_client& client, const node_spec& node) {
  const auto reply = client.ask(node, command{1, "status", ""});
  return reply.ok ? nlohmann::json::parse(reply.body)
                  : nlohmann::json{{"node", node.name}, {"error", reply.body}};
}

double value_of(const nlohmann::json& node, const std::string& name,
                const std::map<std::string, std::string>& labels) {
  double sum = 0;
  for (const auto& m : node.value("metrics", nlohmann::json::array())) {
    if (m["name"] != name) continue;
    bool fits = true;
    for (const auto& [key, text] : labels) fits = fits && m["labels"].value(key, "") == text;
    if (fits) sum += m["value"].get<double>();
  }
  return sum;
}

void print_table(const cluster_spec& cluster, const nlohmann::json& doc) {
  fmt::print("{:<16} {:<8} {:>10} {:>7}  {}\n", "node", "state", "in flight", "slots", "actors");
  for (const auto& n : doc["nodes"]) {
    if (n.contains("error")) {
      fmt::print("{:<16} {:<8} {}\n", n["node"].get<std::string>(), "down", n["error"].get<std::string>());
      continue;
    }
    fmt::print("{:<16} {:<8} {:>10} {:>7}  {}\n", n["node"].get<std::string>(),
               n["ready"].get<bool>() ? "ready" : "waiting", value_of(n, "troupe_requests_in_flight", {}),
               value_of(n, "troupe_slots", {}), n["actors"].size());
  }
  fmt::print("\n{:<20} {:>6} {:>10} {:>10} {:>9} {:>8} {:>8} {:>11}\n", "model", "slots", "accepted",
             "finished", "dropped", "failed", "queued", "mean batch");
  std::vector<std::string> models;
  for (const auto& m : cluster.models) models.push_back(m.name);
  for (const auto& n : doc["nodes"])
    for (const auto& m : n.value("models", nlohmann::json::array()))
      if (const auto name = m["name"].get<std::string>();
          std::find(models.begin(), models.end(), name) == models.end())
        models.push_back(name);
  for (const auto& m : models) {
    double accepted = 0, finished = 0, dropped = 0, failed = 0, queued = 0, slots = 0, batches = 0, rows = 0;
    for (const auto& n : doc["nodes"]) {
      accepted += value_of(n, "troupe_requests_accepted_total", {{"model", m}});
      finished += value_of(n, "troupe_requests_finished_total", {{"model", m}});
      dropped += value_of(n, "troupe_requests_dropped_total", {{"model", m}});
      failed += value_of(n, "troupe_requests_failed_total", {{"model", m}});
      queued += value_of(n, "troupe_queue_requests", {{"model", m}});
      slots += value_of(n, "troupe_queue_slots", {{"model", m}});
      batches += value_of(n, "troupe_batches_total", {{"model", m}});
      rows += value_of(n, "troupe_batched_rows_total", {{"model", m}});
    }
    fmt::print("{:<20} {:>6} {:>10} {:>10} {:>9} {:>8} {:>8} {:>11.1f}\n", m, slots, accepted, finished,
               dropped, failed, queued, batches > 0 ? rows / batches : 0.0);
  }
}

}  // namespace

int status(const cluster_spec& cluster, bool json) {
  control_client client(cluster);
  nlohmann::json doc;
  doc["cluster"] = cluster.name;
  doc["nodes"] = nlohmann::json::array();
  bool good = true;
  for (const auto& n : cluster.nodes) {
    auto answer = ask(client, n);
    good = good && answer.value("ready", false);
    doc["nodes"].push_back(std::move(answer));
  }
  doc["ready"] = good;
  if (json)
    fmt::print("{}\n", doc.dump(2));
  else
    print_table(cluster, doc);
  return good ? 0 : 1;
}

}  // namespace troupe
