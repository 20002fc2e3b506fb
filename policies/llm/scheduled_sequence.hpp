// A sequence that the step scheduler knows (step_scheduler.hpp): how far it is, and what steps under way do
// with it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "messages/common/time.hpp"
#include "messages/llm/step.hpp"

namespace troupe::llm {

struct scheduled_sequence {
  sequence_id id;
  uint64_t arrival;
  std::vector<token> tokens;  // the prompt, then what was generated
  size_t max_length;          // its length at the end
  adapter_id adapter;
  int32_t priority;
  time_point turn, due;
  duration tpot;
  std::vector<uint32_t> blocks;
  // as it is when the steps under way are done
  size_t computed = 0;  // positions whose keys and values are in the blocks
  size_t awaited = 0;   // tokens that these steps choose

  uint32_t steps = 0;    // under way with it
  uint32_t entry = 0;    // in `sampled` of the last of them that chooses for it
  uint32_t in_step = 0;  // rows of the step that is being made
  bool ended = false;    // or cancelled, while steps are under way
  bool late = false;     // it waits, and cannot have its first token in time

  size_t length() const { return tokens.size() + awaited; }
  bool complete() const { return length() == max_length; }
  bool decodes() const { return computed + 1 == length() && computed > 0; }
  uint64_t uncomputed_tokens() const { return length() - computed; }
  /// Of sequences that run: the lower, the longer it keeps its blocks.
  std::tuple<int32_t, uint64_t> importance() const { return {priority, arrival}; }
  /// Of sequences that wait: begins sooner.
  bool before(const scheduled_sequence& other) const {
    return std::tie(priority, turn, arrival) < std::tie(other.priority, other.turn, other.arrival);
  }
};

}  // namespace troupe::llm
