#include "tools/commands/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "messages/common/json_text.hpp"
#include "tools/client/console_client.hpp"
#include "tools/client/leading_pool.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

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

/// Two spaces and the domain that serves the model; empty if there is only one domain.
std::string domain_of(const nlohmann::json& doc, const cluster_spec& cluster, const std::string& model) {
  for (const auto& d : cluster.domains)
    for (const auto& n : doc["nodes"])
      if (value_of(n, "troupe_queue_domain", {{"model", model}, {"domain", d.name}}) > 0)
        return "  " + d.name;
  return {};
}

/// The engine that the deployment log has for the model; "-": none, as for models of GPUs.
std::string engine_of(const nlohmann::json& doc, const std::string& model) {
  for (const auto& n : doc["nodes"])
    for (const auto& m : n.value("models", nlohmann::json::array()))
      if (m["name"] == model && m["engine"] != to_string(model_engine::automatic)) return m["engine"];
  return "-";
}

bool tells(const nlohmann::json& node, const std::string& name, const std::string& model = {}) {
  for (const auto& m : node.value("metrics", nlohmann::json::array()))
    if (m["name"] == name && (model.empty() || m["labels"].value("model", "") == model)) return true;
  return false;
}

/// The leader: of the nodes' answers, the one with the latest term.
nlohmann::json leader_of(const nlohmann::json& nodes) {
  nlohmann::json leader;
  for (const auto& n : nodes)
    if (n.contains("leader") && (leader.is_null() || n["leader"]["term"] > leader["term"]))
      leader = n["leader"];
  return leader;
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
  if (const auto& leader = doc["leader"]; !leader.is_null())
    fmt::print("\n{} is the scheduler, term {}, {} takeovers\n", leader["scheduler"].get<std::string>(),
               leader["term"].get<uint64_t>(), leader["takeovers"].get<uint32_t>());
  if (const auto& a = doc["autoscale"]; !a.is_null()) {
    const auto gpus = a["advice"].get<int>();
    fmt::print("\nGPUs in service: {}; {:.2f} % of requests bad, {:.0f} % idle; advice: {} ({})\n",
               a["gpus"].get<int>(), 100 * a["bad_rate"].get<double>(), 100 * a["idle"].get<double>(),
               gpus == 0  ? "no change"
               : gpus > 0 ? fmt::format("{} more", gpus)
                          : fmt::format("{} fewer", -gpus),
               a["applied"].get<bool>() ? "applied" : "not applied");
  }
  fmt::print("\n{:<20} {:>6} {:>10} {:>10} {:>9} {:>8} {:>8} {:>11}  {:<8}{}\n", "model", "slots", "accepted",
             "finished", "dropped", "failed", "queued", "mean batch", "engine",
             cluster.domains.empty() ? "" : "  domain");
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
    fmt::print("{:<20} {:>6} {:>10} {:>10} {:>9} {:>8} {:>8} {:>11.1f}  {:<8}{}\n", m, slots, accepted,
               finished, dropped, failed, queued, batches > 0 ? rows / batches : 0.0, engine_of(doc, m),
               domain_of(doc, cluster, m));
  }
  if (!doc.contains("instances")) return;
  fmt::print("\n{:<28} {}\n", "instance", "stage");
  for (const auto& i : doc["instances"])
    fmt::print("{:<28} {}\n", i["name"].get<std::string>(), i["stage"].get<std::string>());
  for (const auto& m : doc["scaling"])
    fmt::print("\nthe load of {} needs {} instances ({}){}\n", m["model"].get<std::string>(),
               m["wanted"].get<uint32_t>(), m["applied"].get<bool>() ? "applied" : "not applied",
               m["wants_more"].get<bool>() ? "; there are fewer places" : "");
}

}  // namespace

namespace {

/// Null if there is no advice. With several arbiters each advises on its own slots.
nlohmann::json autoscale_of(const cluster_spec& cluster, const nlohmann::json& nodes) {
  int gpus = 0, advice = 0;
  double bad_rate = 0, idle = 0;  // the worst; weighted by GPUs
  bool any = false;
  for (const auto& n : nodes) {
    if (cluster.autoscale.mode == autoscale_mode::off || !tells(n, "troupe_autoscale_advice")) continue;
    any = true;
    const auto here = value_of(n, "troupe_slots_in_service", {});
    gpus += static_cast<int>(here);
    advice += static_cast<int>(value_of(n, "troupe_autoscale_advice", {}));
    bad_rate = std::max(bad_rate, value_of(n, "troupe_autoscale_bad_rate", {}));
    idle += here * value_of(n, "troupe_autoscale_idle_fraction", {});
  }
  if (!any) return nullptr;
  return {{"gpus", gpus},
          {"advice", advice},
          {"bad_rate", bad_rate},
          {"idle", gpus > 0 ? idle / gpus : 0},
          {"applied", cluster.autoscale.mode == autoscale_mode::apply}};
}

/// By the metrics of the leader: what the load of each model with a scaling loop asks for.
nlohmann::json scaling_of(const cluster_spec& cluster, const nlohmann::json& nodes) {
  auto out = nlohmann::json::array();
  for (const auto& m : cluster.llms) {
    if (m.loop.mode == autoscale_mode::off) continue;
    for (const auto& n : nodes)
      if (tells(n, "troupe_scaling_wanted", m.name))
        out.push_back(
            {{"model", m.name},
             {"wanted", static_cast<uint32_t>(value_of(n, "troupe_scaling_wanted", {{"model", m.name}}))},
             {"wants_more", value_of(n, "troupe_scaling_wants_more", {{"model", m.name}}) > 0},
             {"applied", m.loop.mode == autoscale_mode::apply}});
  }
  return out;
}

nlohmann::json document(console_client& consoles, const cluster_spec& cluster) {
  nlohmann::json doc;
  doc["cluster"] = cluster.name;
  doc["nodes"] = nlohmann::json::array();
  bool good = true;
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i) {
    auto answer = consoles.query(node_id{i}, "status");
    good = good && answer.value("ready", false);
    doc["nodes"].push_back(std::move(answer));
  }
  doc["leader"] = leader_of(doc["nodes"]);
  if (scales_models(cluster)) {
    const auto pool = leading_pool(cluster, consoles).state();
    doc["instances"] = pool ? instances_of(*pool) : nlohmann::json::array();
    doc["scaling"] = scaling_of(cluster, doc["nodes"]);
  }
  doc["ready"] = good;
  doc["autoscale"] = autoscale_of(cluster, doc["nodes"]);
  return doc;
}

bool down(const nlohmann::json& doc) {
  for (const auto& n : doc["nodes"])
    if (!n.contains("error")) return false;
  return true;
}

int bad_wait() {
  report("troupe: --wait takes `ready` or `down`, then optionally the seconds to wait");
  return exit_bad_input;
}

}  // namespace

int status(const cluster_spec& cluster, const status_options& options) {
  duration patience{};
  if (!options.wait.empty()) {
    const auto& seconds = options.wait.size() > 1 ? options.wait[1] : "60";
    char* end = nullptr;
    const double s = std::strtod(seconds.c_str(), &end);
    const bool right = *end == '\0' && s >= 0 && s <= 86'400;  // false for NaN
    patience = from_ms(right ? 1000 * s : 0);
    if (!right || (options.wait[0] != "ready" && options.wait[0] != "down")) return bad_wait();
  }
  const bool wanted_down = !options.wait.empty() && options.wait[0] == "down";
  const machine_clock time;
  const auto until = time.now() + patience;
  console_client consoles(cluster);
  auto doc = document(consoles, cluster);
  const auto as_wanted = [&] { return wanted_down ? down(doc) : doc["ready"].get<bool>(); };
  while (!as_wanted() && time.now() < until) {
    std::this_thread::sleep_for(std::min(duration{200ms}, until - time.now()));
    doc = document(consoles, cluster);
  }
  if (options.json)
    fmt::print("{}\n", json_text(doc, 2));
  else
    print_table(cluster, doc);
  return as_wanted() ? exit_done : exit_failed;
}

}  // namespace troupe
