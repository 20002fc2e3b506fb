// Reads the configuration and the tokenizer of an encoder, without its weights.
#pragma once
#include <filesystem>

#include "actors/frontend/encoder_bundle.hpp"

namespace troupe {

/// Throws model_error, which names the file and the fix; also if the tokenizer belongs to another model.
encoder_bundle read_encoder_bundle(const std::filesystem::path& folder);

}  // namespace troupe
