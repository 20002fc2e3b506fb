// How much an actor is told to remember of its decisions.
#pragma once
#include <string>

#include "messages/commands/run_command.hpp"
#include "messages/tensor/decisions.hpp"

namespace troupe {

/// Throws `command_refused` if that is too much.
inline uint32_t checked(const set_decision_log& s) {
  if (s.requests > largest_decision_log)
    throw command_refused("set_decision_log.requests: must be at most " +
                          std::to_string(largest_decision_log));
  return s.requests;
}

}  // namespace troupe
