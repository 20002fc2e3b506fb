// The fabric of a real node: UCX at the ports and interfaces of the cluster file, with the incarnations and
// secrets that its peers know it by.
#pragma once
#include <memory>

#include "actors/kinds/node_environment.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

class real_fabric {
 public:
  /// Changes the environment of the process: no other thread may read it meanwhile. `time` outlives it.
  /// Throws std::runtime_error if UCX cannot be started.
  real_fabric(const node_spec& me, node_id self, const clock& time);

  fabric& carrier() { return *carrier_; }
  fabric_part part() const;

 private:
  const incarnation_id first_;
  const std::unique_ptr<fabric> carrier_;
};

}  // namespace troupe
