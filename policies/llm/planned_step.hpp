// A step of continuous batching while it is planned, and whose its rows are.
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

  /// Without rows.
  void clear();
  /// The next `in_step` tokens of each, by adapter, in the order given; of those that are read to their end a
  /// token is chosen. Sorts them.
  void add_prompts(std::vector<scheduled_sequence*>& prompts);
  /// One row of each, behind the prompts, by adapter: those with the last prompt's go on with its segment.
  /// Sorts them.
  void add_decodes(std::vector<scheduled_sequence*>& decoding);
};

}  // namespace troupe::llm
