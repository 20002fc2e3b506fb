// offered_outputs keeps the outputs of an execution slot in the node's memory until their gateways have
// pulled them.
#pragma once
#include <vector>

#include "actors/runtime/memory_port.hpp"
#include "messages/common/id_table.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

class offered_outputs {
 public:
  /// `memory` outlives it.
  explicit offered_outputs(memory_port& memory) : memory_(memory) {}

  /// Adds an output that is offered to the gateway, which releases it later.
  void add(const region_ref& region, const address& gateway) {
    offered_.add(region.generation, {region, gateway.node, gateway.incarnation});
  }
  /// Gives back the regions that a gateway has pulled or does not need.
  void on_release(const address& gateway, const release& r) {
    for (const auto& region : r.regions) {
      memory_.give_back(region);
      const auto* mine = offered_.find(region.generation);
      if (mine != nullptr && mine->region == region && mine->gateway == gateway.node &&
          mine->incarnation == gateway.incarnation)
        offered_.erase(region.generation);
    }
  }
  /// Gives back the outputs for a gateway that is down.
  void lose(node_id gateway, incarnation_id incarnation) {
    std::vector<region_ref> orphans;
    for (const auto& [_, o] : offered_.entries())
      if (o.gateway == gateway && o.incarnation == incarnation) orphans.push_back(o.region);
    for (const auto& region : orphans) {
      memory_.give_back(region);
      offered_.erase(region.generation);
    }
  }
  void clear() {
    for (const auto& [_, o] : offered_.entries()) memory_.give_back(o.region);
    offered_.clear();
  }
  size_t size() const { return offered_.size(); }

 private:
  struct output {
    region_ref region;
    node_id gateway;
    incarnation_id incarnation;  // the gateway's
  };
  memory_port& memory_;
  id_table<uint64_t, output> offered_;  // by generation
};

}  // namespace troupe
