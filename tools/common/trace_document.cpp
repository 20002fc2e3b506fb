#include "tools/common/trace_document.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "messages/tensor/scheduling.hpp"

namespace troupe {
namespace {

using nlohmann::ordered_json;

// Track numbers within a process; lanes of overlapping slices count up from the base.
constexpr int queue_tracks = 1'000, request_tracks = 100'000, slot_tracks = 1'000'000, tracks_a_slot = 100;

class events {
 public:
  events(const cluster_spec& cluster, time_point zero) : cluster_(cluster), zero_(zero) {}

  void slice(node_id node, int track, const std::string& name, time_point from, time_point until,
             ordered_json args) {
    add("X", node, track, name, from)["dur"] = us(until - from);
    list_.back()["args"] = std::move(args);
  }
  void instant(node_id node, int track, const std::string& name, time_point at, ordered_json args) {
    auto& e = add("i", node, track, name, at);
    e["s"] = "t";
    e["args"] = std::move(args);
  }
  void arrow(node_id from, int from_track, time_point left, node_id to, int to_track, time_point arrived) {
    const auto id = ++arrows_;
    add("s", from, from_track, "batch", left)["id"] = id;
    auto& end = add("f", to, to_track, "batch", arrived);
    end["id"] = id;
    end["bp"] = "e";
  }
  void name_track(node_id node, int track, const std::string& name) { names_[{node, track}] = name; }

  ordered_json take() {
    for (const auto& [where, name] : names_) {
      const auto pid = where.first.value + 1;
      list_.push_back({{"ph", "M"},
                       {"pid", pid},
                       {"tid", where.second},
                       {"name", "thread_name"},
                       {"args", {{"name", name}}}});
      list_.push_back({{"ph", "M"},
                       {"pid", pid},
                       {"tid", where.second},
                       {"name", "thread_sort_index"},
                       {"args", {{"sort_index", where.second}}}});
    }
    for (uint32_t i = 0; i < cluster_.nodes.size(); ++i)
      list_.push_back({{"ph", "M"},
                       {"pid", i + 1},
                       {"name", "process_name"},
                       {"args", {{"name", cluster_.nodes[i].name}}}});
    return std::move(list_);
  }

 private:
  static double us(duration d) { return static_cast<double>(d.count()) / 1000; }
  ordered_json& add(const char* phase, node_id node, int track, const std::string& name, time_point at) {
    list_.push_back({{"ph", phase},
                     {"pid", node.value + 1},
                     {"tid", track},
                     {"cat", "troupe"},
                     {"name", name},
                     {"ts", us(at - zero_)}});
    return list_.back();
  }

  const cluster_spec& cluster_;
  const time_point zero_;
  ordered_json list_ = ordered_json::array();
  std::map<std::pair<node_id, int>, std::string> names_;
  uint64_t arrows_ = 0;
};

/// Assigns overlapping slices to different lanes; call in the order of their starts.
class lanes {
 public:
  int take(time_point from, time_point until) {
    size_t i = 0;
    while (i < ends_.size() && ends_[i] > from) ++i;
    if (i == ends_.size()) ends_.push_back(until);
    ends_[i] = until;
    return static_cast<int>(i);
  }

 private:
  std::vector<time_point> ends_;
};

struct station {
  const char* before;  ///< the request's activity until then
  time_point at;
};

std::vector<station> stations_of(const request_trace& r, const batch_times& t) {
  const bool ran = r.batch != batch_id{};
  return {{"parse", r.accepted_at},
          {"queued", ran ? t.ordered_at : r.answered_at},
          {"ordered", t.received_at},
          {"inputs pulled", t.inputs_at},
          {"held until its start", t.started_at},
          {"executed", t.finished_at},
          {"reported", r.completed_at},
          {"outputs pulled", ran ? r.answered_at : never}};
}

std::string model_of(const cluster_spec& cluster, model_id model) {
  return model.value < cluster.models.size() ? cluster.models[model.value].name
                                             : fmt::format("model {}", model.value);
}

using batch_key = std::pair<model_id, batch_id>;

}  // namespace

ordered_json trace_document(const cluster_spec& cluster, const trace_records& records) {
  auto requests = records.requests;
  auto batches = records.batches;
  std::sort(requests.begin(), requests.end(), [](const auto& a, const auto& b) {
    return std::pair(a.what.arrival, a.what.id) < std::pair(b.what.arrival, b.what.id);
  });
  std::sort(batches.begin(), batches.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.what.times.received_at, a.what.model, a.what.batch) <
           std::tuple(b.what.times.received_at, b.what.model, b.what.batch);
  });
  auto zero = never;
  for (const auto& r : requests) zero = std::min(zero, r.what.arrival);
  for (const auto& b : batches) zero = std::min({zero, b.what.times.ordered_at, b.what.times.received_at});
  events out(cluster, zero);

  const auto scheduler = scheduler_of(cluster);
  std::map<batch_key, const trace_records::traced_batch*> ran;
  std::map<slot_id, lanes> pulls;
  for (const auto& b : batches) {
    const auto& t = b.what.times;
    const auto model = model_of(cluster, b.what.model);
    const auto name = fmt::format("{} #{}", model, b.what.batch.value);
    const ordered_json args{{"batch", b.what.batch.value},
                            {"model", model},
                            {"rows", b.what.rows},
                            {"requests", b.what.requests}};
    const bool preempted = b.what.refused == to_string(refusal::preempted);
    const int queue = queue_tracks + static_cast<int>(b.what.model.value);
    out.name_track(scheduler, queue, "model_queue " + model);
    out.instant(scheduler, queue, "ordered " + name, t.ordered_at, args);
    const int base = slot_tracks + static_cast<int>(b.what.slot.value) * tracks_a_slot;
    out.name_track(b.worker, base, fmt::format("slot {}", b.what.slot.value));
    if (!b.what.refused.empty() && !(preempted && t.started_at != never)) {
      out.instant(b.worker, base, "refused " + name + ": " + b.what.refused, t.received_at, args);
      continue;
    }
    if (t.inputs_at > t.received_at && t.inputs_at != never) {
      const auto lane = pulls[b.what.slot].take(t.received_at, t.inputs_at);
      const int track = base + 1 + std::min(lane, tracks_a_slot - 2);
      out.name_track(b.worker, track, fmt::format("slot {} inputs", b.what.slot.value));
      out.slice(b.worker, track, "inputs of " + name, t.received_at, t.inputs_at, args);
    }
    if (t.started_at == never || t.finished_at == never) continue;
    out.slice(b.worker, base, preempted ? name + " preempted" : name, t.started_at,
              std::max(t.started_at, t.finished_at), args);
    if (preempted) continue;
    ran[{b.what.model, b.what.batch}] = &b;
  }

  std::map<node_id, lanes> gateway_lanes;
  for (const auto& [gateway, r] : requests) {
    const auto end = std::max(r.arrival, r.answered_at);
    const auto lane = gateway_lanes[gateway].take(r.arrival, end);
    const int track = request_tracks + lane;
    out.name_track(gateway, track, "gateway requests");
    ordered_json args{{"request", r.id.value}, {"outcome", r.outcome}, {"rows", r.rows}};
    if (!r.reason.empty()) args["reason"] = r.reason;
    if (r.batch != batch_id{}) args["batch"] = r.batch.value;
    const auto it = ran.find({r.model, r.batch});
    const auto* batch = r.batch != batch_id{} && it != ran.end() ? it->second : nullptr;
    out.slice(gateway, track, model_of(cluster, r.model) + (r.outcome == "finished" ? "" : " " + r.outcome),
              r.arrival, end, std::move(args));
    auto from = r.arrival;
    for (const auto& [what, at] : stations_of(r, batch != nullptr ? batch->what.times : r.times)) {
      if (at == never) continue;
      const auto until = std::clamp(at, from, end);
      out.slice(gateway, track, what, from, until, ordered_json::object());
      if (batch != nullptr && std::string_view(what) == "ordered") {
        const auto& t = batch->what.times;
        const int to = slot_tracks + static_cast<int>(batch->what.slot.value) * tracks_a_slot;
        if (from <= t.finished_at)
          out.arrow(gateway, track, from, batch->worker, to, std::max(from, t.started_at));
      }
      from = until;
    }
    out.instant(gateway, track, "answered", end, ordered_json::object());
  }
  ordered_json document;
  document["displayTimeUnit"] = "ms";
  document["otherData"] = {
      {"requests", requests.size()}, {"batches", batches.size()}, {"lost", records.lost}};
  document["traceEvents"] = out.take();
  return document;
}

void write_trace(const std::string& file, const cluster_spec& cluster, const trace_records& records) {
  std::ofstream out(file);
  out << trace_document(cluster, records).dump() << '\n';
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file);
}

}  // namespace troupe
