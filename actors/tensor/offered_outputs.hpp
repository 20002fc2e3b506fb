// offered_outputs keeps the outputs of an execution slot in the node's memory until their gateways have
// pulled them.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "actors/runtime/memory_port.hpp"
#include "messages/common/id_table.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

class offered_outputs {
 public:
  /// `memory` outlives it.
  explicit offered_outputs(memory_port& memory) : memory_(memory) {}

  /// Adds the output of a request, which its gateway releases later. `queue` ordered it.
  void add(const region_ref& region, const request& asked, const address& queue) {
    offered_.add(region.generation, {region, asked.gateway, asked.id, asked.attempt, queue});
  }
  /// Gives back the regions that a gateway has pulled or does not need.
  void on_release(const address& gateway, const release& r) {
    for (const auto& region : r.regions) {
      memory_.give_back(region);
      const auto* mine = offered_.find(region.generation);
      if (mine != nullptr && mine->region == region && mine->gateway == gateway)
        offered_.erase(region.generation);
    }
  }
  /// Gives back the outputs for a gateway that is down. Returns the results that it may not have, with their
  /// queues; a message holds what fits into a frame.
  std::vector<std::pair<address, completion>> lose(node_id gateway, incarnation_id incarnation) {
    std::vector<uint64_t> lost;
    for (const auto& [generation, o] : offered_.entries())
      if (o.gateway.node == gateway && o.gateway.incarnation == incarnation) lost.push_back(generation);
    std::vector<std::pair<address, completion>> out;
    for (const auto generation : lost) {
      const auto& o = *offered_.find(generation);
      auto to = std::ranges::find_if(out, [&](const auto& c) {
        return c.first == o.queue && c.second.results.size() < max_per_message;
      });
      if (to == out.end()) to = out.insert(to, {o.queue, {}});
      to->second.results.push_back({o.id, o.attempt, failure::stale_memory, {}, {}});
      memory_.give_back(o.region);
      offered_.erase(generation);
    }
    return out;
  }
  void clear() {
    for (const auto& [_, o] : offered_.entries()) memory_.give_back(o.region);
    offered_.clear();
  }
  size_t size() const { return offered_.size(); }

 private:
  static constexpr size_t max_per_message = 4096;

  struct output {
    region_ref region;
    address gateway;
    request_id id;
    uint32_t attempt = 0;
    address queue;
  };
  memory_port& memory_;
  id_table<uint64_t, output> offered_;  // by generation
};

}  // namespace troupe
