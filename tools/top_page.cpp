#include "tools/top_page.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace troupe {
namespace {

using nlohmann::ordered_json;

template <class N>
double rise(N before, N now) {
  return static_cast<double>(now < before ? now : now - before);
}

template <class Map>
double rise_at(const Map& before, const typename Map::value_type& now) {
  const auto it = before.find(now.first);
  return rise(it == before.end() ? 0 : it->second, now.second);
}

ordered_json by_reason(const std::map<std::string, uint64_t>& before,
                       const std::map<std::string, uint64_t>& now, double seconds) {
  auto out = ordered_json::object();
  for (const auto& entry : now)
    if (const auto n = rise_at(before, entry); n > 0) out[entry.first] = n / seconds;
  return out;
}

/// Null if nothing finished in between.
ordered_json quantile_ms(const std::map<duration, uint64_t>& before, const std::map<duration, uint64_t>& now,
                         double q) {
  double all = 0;
  for (const auto& entry : now) all += rise_at(before, entry);
  if (all == 0) return nullptr;
  const double rank = std::max(1.0, std::ceil(q * all));
  double seen = 0;
  for (const auto& entry : now)
    if ((seen += rise_at(before, entry)) >= rank) return to_ms(entry.first);
  return to_ms(now.rbegin()->first);
}

ordered_json describe(const std::string& name, const top_sample::model& before, const top_sample::model& now,
                      double seconds) {
  const auto batches = rise(before.batches, now.batches);
  ordered_json j{{"model", name},
                 {"slots", now.slots},
                 {"rate_rps", rise(before.accepted, now.accepted) / seconds},
                 {"goodput_rps", rise(before.in_time, now.in_time) / seconds},
                 {"p50_ms", quantile_ms(before.latencies, now.latencies, 0.5)},
                 {"p99_ms", quantile_ms(before.latencies, now.latencies, 0.99)},
                 {"queued_rows", now.queued_rows},
                 {"mean_batch", nullptr},
                 {"drops_per_s", by_reason(before.dropped, now.dropped, seconds)},
                 {"failures_per_s", by_reason(before.failed, now.failed, seconds)}};
  if (batches > 0) j["mean_batch"] = rise(before.batched_rows, now.batched_rows) / batches;
  return j;
}

std::string number(const ordered_json& value) {
  return value.is_null() ? "-" : fmt::format("{:.1f}", value.get<double>());
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
  n.ready = status.value("ready", false);
  for (const auto& m : status.value("metrics", nlohmann::json::array())) {
    const auto& name = m["name"].get_ref<const std::string&>();
    const auto value = m["value"].get<double>();
    if (name == "troupe_requests_in_flight") n.in_flight += value;
    if (m["labels"].contains("slot") && name.starts_with("troupe_worker_")) {
      auto& s = slots[static_cast<uint32_t>(std::stoul(m["labels"]["slot"].get<std::string>()))];
      s.node = n.name;
      if (name == "troupe_worker_busy_seconds_total") s.busy_s = value;
      if (name == "troupe_worker_batches_total") s.batches = value;
    }
    if (!m["labels"].contains("model")) continue;
    auto& of = models[m["labels"]["model"].get<std::string>()];
    if (name == "troupe_queue_slots") of.slots = value;
    if (name == "troupe_queue_rows") of.queued_rows = value;
    if (name == "troupe_batches_total") of.batches = value;
    if (name == "troupe_batched_rows_total") of.batched_rows = value;
  }
  nodes.push_back(std::move(n));
}

void top_sample::add(const ledger_report& books) {
  for (const auto& line : books.models) {
    auto& m = models[line.model];
    m.accepted += line.accepted;
    m.finished += line.finished;
    m.in_time += line.in_time;
    for (const auto& d : line.dropped) m.dropped[d.reason] += d.count;
    for (const auto& f : line.failed) m.failed[f.reason] += f.count;
  }
}

void top_sample::add(const latency_report& latencies) {
  for (const auto& m : latencies.models)
    for (const auto& c : m.counts) models[m.model].latencies[c.latency] += c.count;
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
  auto& models = doc["models"] = ordered_json::array();
  for (const auto& [name, m] : now.models) {
    const auto it = before.models.find(name);
    models.push_back(
        describe(name, it == before.models.end() ? top_sample::model{} : it->second, m, seconds));
  }
  auto& slots = doc["slots"] = ordered_json::array();
  for (const auto& [id, s] : now.slots) {
    const auto it = before.slots.find(id);
    const auto earlier = it == before.slots.end() ? top_sample::slot{} : it->second;
    slots.push_back({{"slot", id},
                     {"node", s.node},
                     {"state", s.state.empty() ? "unknown" : s.state},
                     {"busy", std::min(1.0, rise(earlier.busy_s, s.busy_s) / seconds)},
                     {"batches_per_s", rise(earlier.batches, s.batches) / seconds}});
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
    line("{:<6} {:<20} {:<16} {:>6.1f}% {:>10.1f}", s["slot"].get<uint32_t>(), s["node"].get<std::string>(),
         s["state"].get<std::string>(), 100 * s["busy"].get<double>(), s["batches_per_s"].get<double>());
  return out;
}

}  // namespace troupe
