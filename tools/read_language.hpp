// The words of a checkpoint, without its weights.
#pragma once
#include <filesystem>
#include <memory>

#include "actors/language.hpp"

namespace troupe {

/// Throws model_error, naming the file and the fix.
std::shared_ptr<const language> read_language(const std::filesystem::path& folder);

}  // namespace troupe
