// Invalid workload files for a small cluster with the models m and n, and their problems.
#pragma once
#include "config/workload_file.hpp"
#include "tests/config/cluster_text.hpp"

namespace troupe {

inline const cluster_spec& cluster() {
  static const auto c = read(changed(good_cluster, "", R"(weight = 3
[[model]]
name = "n"
slo_ms = 30
max_batch = 8
profile = { alpha_ms = 2, beta_ms = 4 }
)"));
  REQUIRE(listed(c.problems) == "");
  return c.spec;
}

inline workload_reading workload(std::string_view text) {
  return read_workload_text(text, "w.toml", cluster());
}

inline workload_spec good(std::string_view text) {
  const auto w = workload(text);
  REQUIRE(listed(w.problems) == "");
  return w.spec;
}

struct bad_file {
  const char* text;
  const char* problems;  ///< all of them, one a line, without the file's name
};

inline void check(const std::string& start, std::initializer_list<bad_file> files) {
  for (const auto& bad : files) {
    const auto text = start + bad.text;
    CAPTURE(text);
    std::string said;
    for (const auto& p : workload(text).problems) {
      if (!said.empty()) said += '\n';
      said += to_string(p).substr(std::string_view{"w.toml:"}.size());
    }
    CHECK(said == std::string{bad.problems});
  }
}

}  // namespace troupe
