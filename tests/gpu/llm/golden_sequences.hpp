// The sequences of fixtures/llama-tasks, with the tokens that Transformers writes: six of the base model
// and six of each of four adapters.
#pragma once
#include <filesystem>
#include <vector>

#include "tests/gpu/llm/small_engine.hpp"

namespace troupe::llm {

/// Of the checkpoint that they are sequences of.
std::filesystem::path golden_folder();

struct golden_sequence {
  asked_sequence asked;
  std::vector<token> output;
};
/// Every `stride`th one.
std::vector<golden_sequence> golden_sequences(const engine_facts& facts, size_t stride = 1);

/// Checks that an engine of that device writes them, all at once.
void check_golden_sequences(computing_options options, scheduler_limits limits, size_t stride = 1);

}  // namespace troupe::llm
