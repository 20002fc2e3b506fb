// Reads the tokenizer, chat template and special tokens of a checkpoint, without its weights.
#pragma once
#include <filesystem>
#include <memory>

#include "actors/llm/tokenizer_bundle.hpp"

namespace troupe {

/// Throws model_error that names the file and the fix.
std::shared_ptr<const tokenizer_bundle> read_tokenizer_bundle(const std::filesystem::path& folder);

}  // namespace troupe
