// Whether there is no such file. What cannot be looked up, such as a link to itself, is not missing: reading
// it says why.
#pragma once
#include <filesystem>
#include <system_error>

namespace troupe {

inline bool is_missing(const std::filesystem::path& file) {
  std::error_code unreadable;
  return std::filesystem::status(file, unreadable).type() == std::filesystem::file_type::not_found;
}

}  // namespace troupe
