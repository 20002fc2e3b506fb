// Records a simulated cluster for a trace, with the commands of `troupe trace`, between two events.
#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "actors/node_runtime.hpp"
#include "messages/wire/json.hpp"
#include "messages/wire/shift_times.hpp"
#include "tools/common/trace_document.hpp"

namespace troupe::sim {

class recording {
 public:
  explicit recording(const cluster_spec& cluster) : cluster_(cluster) {}

  /// Takes the records of a node's processes since the last call; the first call for a process starts its
  /// recording. `ahead`: its clock's lead on the true time. `settle` runs all actors until none is ready.
  void collect(node_id node, uint64_t process, node_runtime& runtime, duration ahead,
               const std::function<void()>& settle) {
    const bool begins = std::exchange(process_[node], process) != process;
    const auto from = [&](role kind, uint32_t index) {
      const address to{node, {}, kind, index};
      const auto ask = [&](const char* type, const nlohmann::json& fields) {
        command_reply out;
        runtime.post().ask(to, {0, type, fields.dump()}, [&](command_reply r) { out = std::move(r); });
        settle();
        return out;
      };
      if (begins) ask("start_trace", {{"capacity", largest_trace}, {"sample", 1}});
      for (bool more = !begins; more;) {
        const auto r = ask("take_trace", {{"limit", longest_list}});
        if (!r.ok) return;
        const auto body = nlohmann::json::parse(r.body);
        more = kind == role::gateway ? take(node, from_json<traced_requests>(body), -ahead)
                                     : take(node, from_json<traced_batches>(body), -ahead);
      }
    };
    if (cluster_.nodes[node.value].has(node_role::gateway)) from(role::gateway, 0);
    for (uint32_t i = 0; i < cluster_.slots.size(); ++i)
      if (cluster_.slots[i].node == node) from(role::gpu_worker, i);
  }

  trace_records take() { return std::move(records_); }

 private:
  bool take(node_id node, traced_requests taken, duration by) {
    records_.lost += taken.lost;
    for (auto& t : taken.requests) {
      shift_times(t, by);
      records_.requests.push_back({node, std::move(t)});
    }
    return taken.more;
  }
  bool take(node_id node, traced_batches taken, duration by) {
    records_.lost += taken.lost;
    for (auto& t : taken.batches) {
      shift_times(t, by);
      records_.batches.push_back({node, std::move(t)});
    }
    return taken.more;
  }

  const cluster_spec& cluster_;
  std::map<node_id, uint64_t> process_;
  trace_records records_;
};

}  // namespace troupe::sim
