// Reads the configuration and the tokenizer of an encoder.
#pragma once
#include <cstdint>
#include <filesystem>

#include "actors/frontend/encoder_bundle.hpp"

namespace troupe {

/// `max_tokens`: of a text. Throws model_error, which names the file and the fix; also if the tokenizer
/// belongs to another model, or leaves no place for words.
encoder_bundle read_encoder_bundle(const std::filesystem::path& folder, uint32_t max_tokens);

}  // namespace troupe
