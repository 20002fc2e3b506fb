// Validation of the size of a decision log in a command.
#pragma once
#include <string>

#include "messages/commands/run_command.hpp"
#include "messages/tensor/decisions.hpp"

namespace troupe {

/// In requests. Throws `command_refused` beyond `largest_decision_log`.
inline uint32_t checked(const set_decision_log& s) {
  if (s.requests > largest_decision_log)
    throw command_refused("set_decision_log.requests: must be at most " +
                          std::to_string(largest_decision_log));
  return s.requests;
}

}  // namespace troupe
