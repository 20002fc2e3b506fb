// A temporary folder that is removed with the object.
#pragma once
#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace troupe {

struct temporary_folder {
  std::filesystem::path path;

  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
    REQUIRE_MESSAGE(mkdtemp(name.data()) != nullptr, name);
    path = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path / name; }
  /// Writes a file into it; returns its path.
  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::ofstream out(path / name, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    REQUIRE_MESSAGE(out.good(), (path / name).string());
    return path / name;
  }
};

}  // namespace troupe
