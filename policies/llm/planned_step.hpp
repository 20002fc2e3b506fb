// A planned step of continuous batching, with the sequences that its rows belong to.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/llm/step.hpp"

namespace troupe::llm {

struct scheduled_sequence;

struct planned_step {
  llm_step step;
  std::vector<scheduled_sequence*> sequences;  ///< by entry of the step's `sequences`; null: forgotten since
  uint32_t decodes = 0;

  /// Removes all rows.
  void clear();
  /// Adds the next `in_step` tokens of each prompt, by adapter, in the given order. A token is sampled after
  /// each prompt that is complete. Sorts `prompts`.
  void add_prompts(std::vector<scheduled_sequence*>& prompts);
  /// Adds one row per decode, behind the prompts, by adapter; decodes with the adapter of the last prompt
  /// extend its segment. Sorts `decoding`.
  void add_decodes(std::vector<scheduled_sequence*>& decoding);
};

}  // namespace troupe::llm
