// Reads the table `llm` of experiments.
#pragma once
#include <filesystem>
#include <optional>

#include "config/reader.hpp"
#include "tools/lab/llm_scenario.hpp"

namespace troupe::lab {

/// `[llm]` of `root`: what it does not say is as in `out`, or as by default. Without it nothing changes.
/// The profile is relative to `directory`.
void read_llm(section& root, const std::filesystem::path& directory, std::optional<llm_scenario>& out);

}  // namespace troupe::lab
