// A valid small cluster file, and helpers that break it.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/cluster_file.hpp"

namespace troupe {

inline constexpr std::string_view good_cluster = R"(name = "test"
[policy]
batching = "deferred"
[limits]
queue_rows = 100
[[node]]
name = "head"
roles = ["gateway", "scheduler"]
control_port = 7701
http_port = 8080
[[node]]
name = "worker"
roles = ["worker"]
control_port = 7702
[[node.device]]
kind = "emulated"
count = 2
[[model]]
name = "m"
slo_ms = 20
profile = { alpha_ms = 1, beta_ms = 5 }
)";

/// The text with the first `was` replaced by `is`, or with `is` at its end if `was` is empty.
inline std::string changed(std::string_view text, std::string_view was, std::string_view is) {
  std::string out{text};
  const auto at = was.empty() ? out.size() : out.find(was);
  REQUIRE_MESSAGE(at != std::string::npos, "not in the text: ", std::string{was});
  return out.replace(at, was.size(), is);
}

/// Reads the text with the fixtures as the folder of model files.
inline cluster_reading read(std::string_view text) {
  return read_cluster_text(text, "cluster.toml", TROUPE_FIXTURES "/onnx");
}

inline std::string listed(const std::vector<problem>& problems) {
  std::string out;
  for (const auto& p : problems) out += to_string(p) + "\n";
  return out;
}

}  // namespace troupe
