// Reader and writer of the step profile of a language model, for emulated devices: a TOML file.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "messages/llm/step_latency.hpp"

namespace troupe {

struct step_profile_reading {
  llm::llm_profile profile;
  std::vector<problem> problems;  ///< empty: the profile is valid
};

step_profile_reading read_step_profile(const std::filesystem::path& file);
step_profile_reading read_step_profile_text(std::string_view toml, const std::string& file);

/// The profile as TOML text. `about`: comment lines at its top.
std::string step_profile_text(const llm::llm_profile& profile, std::string_view about);

}  // namespace troupe
