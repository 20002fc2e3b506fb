// Libraries to load, good ones and spoilt copies of them.
#pragma once
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace troupe {

/// A folder that goes away with its test.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe-plugins-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A copy of the example plug-in in which the bytes after `text` of its descriptor are others.
inline std::filesystem::path spoilt(const scratch_folder& in, std::string_view name, size_t offset,
                                    std::string_view bytes) {
  auto content = bytes_of(TROUPE_EXAMPLE_PLUGIN);
  const auto at = content.find("troupe plug-in");
  REQUIRE(at != std::string::npos);
  std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(at + offset));
  return in.write(name, content);
}

}  // namespace troupe
