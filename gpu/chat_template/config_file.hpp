// Files of a checkpoint that hold chat templates or their settings.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace troupe::llm {

/// None if there is no such file. Throws model_error, which names the file, if it cannot be read.
std::optional<std::string> read_config_text(const std::filesystem::path& file);

/// Null if there is no such file. Throws model_error, too, if it is not a JSON object.
nlohmann::json read_config_object(const std::filesystem::path& file);

}  // namespace troupe::llm
