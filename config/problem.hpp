// Problems of a file, with their positions. Readers of config/ collect all problems instead of stopping at
// the first.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/near.hpp"

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
/// With spaces for control characters: names in files may have any.
std::string one_line(std::string text);

/// In double quotes, with TOML's escapes.
std::string in_quotes(std::string_view text);

}  // namespace troupe
