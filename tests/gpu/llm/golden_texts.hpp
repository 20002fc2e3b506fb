// The texts of fixtures/llama-tasks, with the tokens that Transformers writes: six of the base model
// and six of each of four adapters.
#pragma once
#include <filesystem>
#include <vector>

#include "tests/gpu/llm/small_engine.hpp"

namespace troupe::llm {

/// Of the checkpoint that they are texts of.
std::filesystem::path golden_folder();

struct golden_text {
  asked_text asked;
  std::vector<token> output;
};
/// Every `stride`th one.
std::vector<golden_text> golden_texts(const engine_facts& facts, size_t stride = 1);

/// Checks that an engine of that device writes them, all at once.
void check_golden_texts(computing_options options, batching_limits limits, size_t stride = 1);

}  // namespace troupe::llm
