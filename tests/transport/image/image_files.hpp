// The images of tests/fixtures/images (make_images.py).
#pragma once
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fixtures_folder.hpp"

namespace troupe {

inline std::string image_bytes(const std::string& name) {
  std::ifstream in(fixtures_folder() / "images" / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

struct listed_image {
  std::string name;
  uint32_t width = 0, height = 0;
};
inline std::vector<listed_image> listed_images() {
  std::istringstream in(image_bytes("images.txt"));
  std::vector<listed_image> out;
  for (listed_image x; in >> x.name >> x.width >> x.height;) out.push_back(x);
  return out;
}

}  // namespace troupe
