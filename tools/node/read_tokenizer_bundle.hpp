// Reads the tokenizer, chat template and special tokens of a checkpoint, without its weights.
#pragma once
#include <filesystem>
#include <memory>

#include "actors/llm/tokenizer_bundle.hpp"

namespace troupe {

/// A chat template that cannot be used is a `chat_problem`; other problems throw model_error, which names the
/// file and the fix.
std::shared_ptr<const tokenizer_bundle> read_tokenizer_bundle(const std::filesystem::path& folder);

}  // namespace troupe
