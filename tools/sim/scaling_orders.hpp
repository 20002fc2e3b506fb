// Orders to scale the language models of a simulated cluster, and the times at which they are carried out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/scaling/commands.hpp"

namespace troupe::sim {

struct scaling_orders {
  duration at{};                    ///< after the workload's beginning
  std::vector<scale_model> scales;  ///< to the leader's parameter pool
  /// Each node after the first one gets the images of the first language model from the node before it, in
  /// place of what the leader would order.
  std::vector<node_id> chain;
};

/// Times are counted from the orders; nothing: it happened before them, or never.
struct scaling_times {
  std::vector<std::optional<duration>> weights;  ///< by node: the images of some model are complete
  std::vector<std::optional<duration>> ready;    ///< by engine: a router knows that it serves
  std::vector<duration> predicted;               ///< by engine: by the leader's plan; 0: it made none
  std::vector<std::vector<std::string>> chains;  ///< nodes of the leader's plan
  uint64_t network = 0, scale_up = 0, host = 0, ssd = 0, unspecified = 0;  ///< bytes of images, by their way
  std::string refusal;                                                     ///< of an order
};

}  // namespace troupe::sim
