// Libraries for the loader: valid ones and corrupted copies.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/temporary_folder.hpp"

namespace troupe {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A copy of the example plug-in with different bytes after `text` of its descriptor.
inline std::filesystem::path spoilt(const temporary_folder& in, std::string_view name, size_t offset,
                                    std::string_view bytes) {
  auto content = bytes_of(TROUPE_EXAMPLE_PLUGIN);
  const auto at = content.find("troupe plug-in");
  REQUIRE(at != std::string::npos);
  std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(at + offset));
  return in.write(name, content);
}

}  // namespace troupe
