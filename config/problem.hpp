// What is wrong with a file, and where. Readers of config/ collect all problems instead of stopping at the
// first.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Line and column count from 1; line 0: the file as a whole.
struct file_position {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const file_position&) const = default;
};

std::string to_string(const file_position& p);  ///< "cluster.toml:12:9", "cluster.toml"

struct problem {
  file_position where;
  std::string text;  ///< "model.slo_ms: must be ..."
};

problem about_file(std::string file, std::string text);  ///< without a line
std::string to_string(const problem& p);                 ///< "cluster.toml:12:9: model.slo_ms: must be ..."

/// The name of `known` that someone who wrote `written` most likely meant; empty if none is near.
std::string_view nearest(std::string_view written, std::span<const std::string_view> known);

/// "; did you mean 'x'?" if one is near, else "; known: x, y" if any is known, else nothing.
std::string hint(std::string_view written, std::span<const std::string_view> known);

/// In double quotes, with TOML's escapes.
std::string in_quotes(std::string_view text);

}  // namespace troupe
