#include "tools/commands/top_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace troupe {
namespace {

using nlohmann::ordered_json;

/// Changes of a model's counters between two samples, over all comparable nodes.
struct model_interval {
  double accepted = 0, in_time = 0, batches = 0, batched_rows = 0;
  std::map<std::string, double> dropped, failed;  ///< by reason
  std::map<duration, double> latencies;
};

struct interval_statistics {
  bool gateways = false;  ///< at least one gateway is comparable
  std::map<std::string, model_interval> models;
  std::map<uint32_t, top_sample::busy> slots;
};

/// The difference of two counters of one incarnation, which never decrease.
template <class N>
double rise(N before, N now) {
  return now < before ? 0 : static_cast<double>(now - before);
}

/// The element with that key, or an empty one: a missing counter is 0.
template <class Map>
typename Map::mapped_type at_or_zero(const Map& map, const typename Map::key_type& key) {
  const auto it = map.find(key);
  return it == map.end() ? typename Map::mapped_type{} : it->second;
}

template <class T>
T find_by(const std::vector<T>& list, std::string T::*key, const std::string& value) {
  const auto it = std::ranges::find(list, value, key);
  return it == list.end() ? T{} : *it;
}

void add_rises(std::map<std::string, double>& to, const std::vector<reason_count>& before,
               const std::vector<reason_count>& now) {
  for (const auto& r : now)
    to[r.reason] += rise(find_by(before, &reason_count::reason, r.reason).count, r.count);
}

void add_ledger(interval_statistics& all, const ledger_report& before, const ledger_report& now) {
  all.gateways = true;
  for (const auto& line : now.models) {
    const auto earlier = find_by(before.models, &ledger_line::model, line.model);
    auto& m = all.models[line.model];
    m.accepted += rise(earlier.accepted, line.accepted);
    m.in_time += rise(earlier.in_time, line.in_time);
    add_rises(m.dropped, earlier.dropped, line.dropped);
    add_rises(m.failed, earlier.failed, line.failed);
  }
}

void add_latencies(interval_statistics& all, const latency_report& before, const latency_report& now) {
  for (const auto& m : now.models) {
    std::map<duration, uint64_t> earlier;
    for (const auto& c : find_by(before.models, &model_latencies::model, m.model).counts)
      earlier[c.latency] = c.count;
    for (const auto& c : m.counts)
      all.models[m.model].latencies[c.latency] += rise(at_or_zero(earlier, c.latency), c.count);
  }
}

void add_node(interval_statistics& all, const top_sample::node& before, const top_sample::node& now) {
  for (const auto& [name, b] : now.of_models) {
    const auto earlier = at_or_zero(before.of_models, name);
    auto& m = all.models[name];
    m.batches += rise(earlier.count, b.count);
    m.batched_rows += rise(earlier.rows, b.rows);
  }
  for (const auto& [id, b] : now.of_slots) {
    const auto earlier = at_or_zero(before.of_slots, id);
    all.slots[id] = {rise(earlier.seconds, b.seconds), rise(earlier.batches, b.batches)};
  }
  if (before.ledger && now.ledger) add_ledger(all, *before.ledger, *now.ledger);
  if (before.latencies && now.latencies) add_latencies(all, *before.latencies, *now.latencies);
}

interval_statistics between(const top_sample& before, const top_sample& now) {
  interval_statistics all;
  for (const auto& n : now.nodes)
    for (const auto& earlier : before.nodes)
      if (earlier.name == n.name && earlier.incarnation == n.incarnation && earlier.error.empty() &&
          n.error.empty())
        add_node(all, earlier, n);
  return all;
}

ordered_json rates(const std::map<std::string, double>& counts, double seconds) {
  auto out = ordered_json::object();
  for (const auto& [reason, n] : counts)
    if (n > 0) out[reason] = n / seconds;
  return out;
}

/// Null if nothing finished in between.
ordered_json quantile_ms(const std::map<duration, double>& counts, double q) {
  double all = 0;
  for (const auto& [latency, n] : counts) all += n;
  if (all == 0) return nullptr;
  const double rank = std::max(1.0, std::ceil(q * all));
  double seen = 0;
  for (const auto& [latency, n] : counts)
    if ((seen += n) >= rank) return to_ms(latency);
  return to_ms(counts.rbegin()->first);
}

ordered_json describe(const std::string& name, const top_sample::model& now, const model_interval& m,
                      bool gateways, double seconds) {
  ordered_json j{{"model", name},
                 {"slots", now.slots},
                 {"rate_rps", nullptr},
                 {"goodput_rps", nullptr},
                 {"p50_ms", quantile_ms(m.latencies, 0.5)},
                 {"p99_ms", quantile_ms(m.latencies, 0.99)},
                 {"queued_rows", now.queued_rows},
                 {"mean_batch", nullptr},
                 {"drops_per_s", rates(m.dropped, seconds)},
                 {"failures_per_s", rates(m.failed, seconds)}};
  if (gateways) {
    j["rate_rps"] = m.accepted / seconds;
    j["goodput_rps"] = m.in_time / seconds;
  }
  if (m.batches > 0) j["mean_batch"] = m.batched_rows / m.batches;
  return j;
}

std::string number(const ordered_json& value, double factor = 1, const char* unit = "") {
  return value.is_null() ? "-" : fmt::format("{:.1f}{}", factor * value.get<double>(), unit);
}

std::string reasons(const ordered_json& model) {
  std::string out;
  for (const char* kind : {"drops_per_s", "failures_per_s"})
    for (const auto& [reason, rate] : model[kind].items())
      out += fmt::format("{}{} {:.1f}", out.empty() ? "" : ", ", reason, rate.get<double>());
  return out;
}

}  // namespace

void top_sample::add_status(const nlohmann::json& status) {
  node n;
  n.name = status["node"];
  n.error = status.value("error", "");
  n.incarnation = status.value("incarnation", uint64_t{0});
  n.ready = status.value("ready", false);
  for (const auto& m : status.value("metrics", nlohmann::json::array())) {
    const auto& name = m["name"].get_ref<const std::string&>();
    const auto value = m["value"].get<double>();
    if (name == "troupe_requests_in_flight") n.in_flight += value;
    if (m["labels"].contains("slot") && name.starts_with("troupe_worker_")) {
      const auto id = static_cast<uint32_t>(std::stoul(m["labels"]["slot"].get<std::string>()));
      slots[id].node = n.name;
      auto& s = n.of_slots[id];
      if (name == "troupe_worker_busy_seconds_total") s.seconds = value;
      if (name == "troupe_worker_batches_total") s.batches = value;
    }
    if (!m["labels"].contains("model")) continue;
    const auto& served = m["labels"]["model"].get_ref<const std::string&>();
    if (name == "troupe_queue_slots") models[served].slots += value;  // a standby has none
    if (name == "troupe_queue_rows") models[served].queued_rows += value;
    if (name == "troupe_batches_total") n.of_models[served].count = value;
    if (name == "troupe_batched_rows_total") n.of_models[served].rows = value;
  }
  nodes.push_back(std::move(n));
}

void top_sample::add(const arbiter_state& arbiter, const std::vector<std::string>& node_names) {
  for (const auto& s : arbiter.slots) {
    auto& mine = slots[s.slot.value];
    mine.state = s.state;
    if (mine.node.empty() && s.node.value < node_names.size()) mine.node = node_names[s.node.value];
  }
}

ordered_json top_document(const top_sample& before, const top_sample& now) {
  const double seconds = std::max(1e-9, to_seconds(now.at - before.at));
  ordered_json doc{{"interval_s", seconds}};
  auto& nodes = doc["nodes"] = ordered_json::array();
  for (const auto& n : now.nodes) {
    nodes.push_back({{"node", n.name},
                     {"state", !n.error.empty() ? "down"
                               : n.ready        ? "ready"
                                                : "waiting"},
                     {"in_flight", n.in_flight}});
    if (!n.error.empty()) nodes.back()["error"] = n.error;
  }
  auto all = between(before, now);
  for (const auto& [name, m] : now.models) all.models[name];  // also idle models
  auto& models = doc["models"] = ordered_json::array();
  for (const auto& [name, m] : all.models)
    models.push_back(describe(name, at_or_zero(now.models, name), m, all.gateways, seconds));
  auto& slots = doc["slots"] = ordered_json::array();
  for (const auto& [id, s] : now.slots) {
    slots.push_back({{"slot", id},
                     {"node", s.node},
                     {"state", s.state.empty() ? "unknown" : s.state},
                     {"busy", nullptr},
                     {"batches_per_s", nullptr}});
    const auto it = all.slots.find(id);
    if (it == all.slots.end()) continue;
    slots.back()["busy"] = std::min(1.0, it->second.seconds / seconds);
    slots.back()["batches_per_s"] = it->second.batches / seconds;
  }
  return doc;
}

std::string top_table(const ordered_json& doc) {
  std::string out;
  const auto line = [&]<class... Ts>(fmt::format_string<Ts...> text, Ts&&... values) {
    out += fmt::format(text, std::forward<Ts>(values)...) + "\n";
  };
  line("{:<20} {:<10} {:>10}", "node", "state", "in flight");
  for (const auto& n : doc["nodes"])
    line("{:<20} {:<10} {:>10} {}", n["node"].get<std::string>(), n["state"].get<std::string>(),
         n["in_flight"].get<double>(), n.value("error", ""));
  line("");
  line("{:<20} {:>5} {:>9} {:>10} {:>8} {:>8} {:>7} {:>7}  {}", "model", "slots", "rate/s", "goodput/s",
       "p50 ms", "p99 ms", "queued", "batch", "drops and failures a second");
  for (const auto& m : doc["models"])
    line("{:<20} {:>5} {:>9} {:>10} {:>8} {:>8} {:>7} {:>7}  {}", m["model"].get<std::string>(),
         m["slots"].get<double>(), number(m["rate_rps"]), number(m["goodput_rps"]), number(m["p50_ms"]),
         number(m["p99_ms"]), m["queued_rows"].get<double>(), number(m["mean_batch"]), reasons(m));
  line("");
  line("{:<6} {:<20} {:<16} {:>7} {:>10}", "slot", "node", "state", "busy", "batches/s");
  for (const auto& s : doc["slots"])
    line("{:<6} {:<20} {:<16} {:>7} {:>10}", s["slot"].get<uint32_t>(), s["node"].get<std::string>(),
         s["state"].get<std::string>(), number(s["busy"], 100, "%"), number(s["batches_per_s"]));
  return out;
}

}  // namespace troupe
