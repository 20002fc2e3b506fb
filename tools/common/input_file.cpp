#include "tools/common/input_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace troupe {

input_file read_input_file(const std::string& path) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  if (type == std::filesystem::file_type::directory) return {{}, "cannot be read: it is a directory"};
  if (type == std::filesystem::file_type::character) return {{}, "cannot be read: it is a device"};
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return {{}, std::string("cannot be read: ") + std::strerror(errno != 0 ? errno : EIO)};
  input_file out;
  std::vector<char> piece(1 << 16);
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
    out.bytes.insert(out.bytes.end(), piece.begin(), piece.begin() + in.gcount());
  if (in.bad()) return {{}, "cannot be read: it ended early"};
  return out;
}

}  // namespace troupe
