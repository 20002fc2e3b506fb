// Reader of latency profiles in CSV: one model per line, after the header line
// `model,alpha_ms,beta_ms[,slo_ms]`.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

struct profile {
  std::string name;
  latency_model latency;
  std::optional<duration> slo;  ///< SLO under which the profile was measured
  file_position where;
};

struct profile_reading {
  std::vector<profile> profiles;  ///< the valid ones
  std::vector<problem> problems;
};

profile_reading read_profiles(const std::filesystem::path& file);
profile_reading read_profile_text(std::string_view csv, const std::string& file);

}  // namespace troupe
