// Reads the table `llm` of experiments.
#pragma once
#include <filesystem>
#include <optional>

#include "config/reader.hpp"
#include "tools/lab/llm_scenario.hpp"

namespace troupe::lab {

/// Reads `[llm]` of `root`. Absent keys keep the values in `out`, or the defaults. Without the table nothing
/// changes. The profile's path is relative to `directory`.
void read_llm(section& root, const std::filesystem::path& directory, std::optional<llm_scenario>& out);

}  // namespace troupe::lab
