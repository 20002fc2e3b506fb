// The flows of weights to a node, each from another source. All chain links of the node pull them together:
// pulls of two models from one source share its link, and the rate of the flow is that of both.
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "policies/scaling/measured_rate.hpp"

namespace troupe {

/// Not thread-safe: the chain links of a node have one thread.
class source_flows {
 public:
  /// A transfer from the source begins.
  void begin(node_id from) {
    if (auto& f = flows_[from]; f.pulls == 0) f.rate.begin();
  }
  /// A pull begins.
  void post(node_id from) { ++flows_[from].pulls; }
  /// It ends, with so many bytes, or 0 if it failed. Returns the rate of the flow in Gbit/s if there is
  /// another sample of it. Precondition: it was posted.
  std::optional<double> end(node_id from, uint64_t bytes, time_point posted, time_point completed) {
    auto& f = flows_.at(from);
    --f.pulls;
    if (bytes == 0 || !f.rate.add(bytes, posted, completed, f.pulls == 0)) return {};
    return f.rate.gbit_per_s();
  }

 private:
  struct flow {
    measured_rate rate;
    uint32_t pulls = 0;  ///< under way
  };
  std::map<node_id, flow> flows_;  ///< by source
};

}  // namespace troupe
