// Commands to consoles and metrics (rules: messages/common/commands.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/commands.hpp"

namespace troupe {

// Of a console.

struct console_state {
  uint32_t open = 0;   ///< commands without a reply yet
  uint32_t limit = 0;  ///< of these
  uint64_t answered = 0;
  uint64_t refused = 0;
  TROUPE_MESSAGE(console_state, open, limit, answered, refused)
};
using console_commands = type_list<exchange<get_state, console_state>>;

// Of metrics.

struct get_metrics {
  static constexpr const char* about = "every metric of the node, by name";
  TROUPE_MESSAGE(get_metrics)
};
struct metric_value {
  std::string name;
  std::string labels;  ///< key=value, by commas
  double value = 0;
  TROUPE_MESSAGE(metric_value, name, labels, value)
};
struct metric_list {
  std::vector<metric_value> metrics;
  TROUPE_MESSAGE(metric_list, metrics)
};
using metrics_commands = type_list<exchange<get_metrics, metric_list>>;

}  // namespace troupe
