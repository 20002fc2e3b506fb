// Reads scenarios: files of their own, or tables of experiment files.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.hpp"
#include "tools/lab/scenario.hpp"

namespace troupe::lab {

struct scenario_reading {
  scenario spec;                  ///< valid only without problems
  std::vector<problem> problems;  ///< all of them, in file order
  bool ok() const { return problems.empty(); }
};

/// A goodput scenario, or the scenario of an experiment file, whose own keys are then ignored. A scenario
/// that cannot be served at any rate is a problem, too.
scenario_reading read_scenario(const std::filesystem::path& file);
scenario_reading read_scenario_text(std::string_view text, const std::string& file);

/// Reads the scenario's keys from a table; absent keys keep the values of `base`. Paths of profiles are
/// relative to `directory`.
scenario read_scenario_keys(section& s, const std::filesystem::path& directory, const scenario& base);

/// The same for a case, which may name a `scenario` file as its base.
scenario read_case_keys(section& s, const std::filesystem::path& directory, const scenario& base);

}  // namespace troupe::lab
