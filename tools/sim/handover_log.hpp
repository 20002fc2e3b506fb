// Hand-overs of KV blocks between engines that are under way (messages/llm/handover.hpp).
#pragma once
#include <cstdint>
#include <map>
#include <utility>

#include "messages/llm/handover.hpp"

namespace troupe::sim {

class handover_log {
 public:
  struct transfer {
    node_id from, to;
  };

  /// An engine on the node `to` got the offer.
  const transfer& begin(const kv_offer& o, node_id to) {
    return under_way_[key(o.lease)] = {o.lease.node, to};
  }
  /// It has pulled the blocks, or does without them.
  void end(const region_ref& lease) { under_way_.erase(key(lease)); }
  /// The processes on the node have ended.
  void lose(node_id node) {
    std::erase_if(under_way_, [&](const auto& t) { return t.second.from == node || t.second.to == node; });
  }

  auto begin() const { return under_way_.begin(); }
  auto end() const { return under_way_.end(); }

 private:
  using lease_key = std::pair<std::pair<node_id, incarnation_id>, uint64_t>;
  static lease_key key(const region_ref& lease) { return {{lease.node, lease.owner}, lease.generation}; }

  std::map<lease_key, transfer> under_way_;
};

}  // namespace troupe::sim
