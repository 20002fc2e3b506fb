// Reads the table `texts` of experiments.
#pragma once
#include <filesystem>
#include <optional>

#include "config/reader.hpp"
#include "tools/lab/text_scenario.hpp"

namespace troupe::lab {

/// `[texts]` of `root`: what it does not say is as in `out`, or as by default. Without it nothing changes.
/// The profile is relative to `directory`.
void read_texts(section& root, const std::filesystem::path& directory, std::optional<text_scenario>& out);

}  // namespace troupe::lab
