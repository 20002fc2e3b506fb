// State of a sequence in the step scheduler (step_scheduler.hpp), and its part in the steps under way.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "messages/common/time.hpp"
#include "messages/llm/step.hpp"
#include "policies/llm/prefix_cache.hpp"

namespace troupe::llm {

struct scheduled_sequence {
  sequence_id id;
  uint64_t arrival;
  std::vector<token> tokens;  // the prompt, then generated tokens
  size_t max_length;          // its length at the end
  adapter_id adapter;
  int32_t priority;
  time_point turn, due;
  duration tpot;
  prefix_scope scope;
  held_blocks kv;
  // the following as after the steps under way
  size_t computed = 0;  // positions whose keys and values are in the blocks
  size_t awaited = 0;   // tokens that the steps under way will choose

  uint32_t steps = 0;     // steps under way that contain it
  uint32_t entry = 0;     // its entry in `sampled` of the last of them that samples it
  uint32_t in_step = 0;   // rows in the step being planned
  bool ended = false;     // or cancelled, while steps are under way
  bool late = false;      // it waits, and its TTFT target is infeasible
  bool stopped = false;   // it is to be handed over
  bool arriving = false;  // the caller fills its blocks with the offered positions
  bool lost = false;      // all keys and values were lost meanwhile

  size_t stops_at = std::numeric_limits<size_t>::max();  // its length when it stops by itself
  size_t expected = 0;   // while it waits: tokens that need not be computed, as of the last look
  size_t offered = 0;    // positions that another engine has computed, until they are here
  size_t cached = 0;     // tokens that it had when the sequence began for the first time
  bool counted = false;  // it has begun before
  int64_t blocks_missing = std::numeric_limits<int64_t>::min();  // blocks without which it cannot begin

  size_t length() const { return tokens.size() + awaited; }
  bool complete() const { return length() == std::min(stops_at, max_length); }
  bool decodes() const { return computed + 1 == length() && computed > 0; }
  uint64_t uncomputed_tokens() const { return length() - std::max(computed, expected); }
  /// Order of running sequences: lower ones keep their blocks longer.
  std::tuple<int32_t, uint64_t> importance() const { return {priority, arrival}; }
  /// Order of waiting sequences: true if this one begins first.
  bool before(const scheduled_sequence& other) const {
    return std::tie(priority, turn, arrival) < std::tie(other.priority, other.turn, other.arrival);
  }
};

}  // namespace troupe::llm
