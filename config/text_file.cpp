#include "config/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "config/fingerprint.hpp"

namespace troupe {

namespace {

/// Passes the file to `sink` piece by piece. Returns the error, or nothing.
template <class Sink>
std::string read_pieces(const std::filesystem::path& file, pipes may_be, Sink sink) {
  std::error_code ignored;
  const auto type = std::filesystem::status(file, ignored).type();
  if (type == std::filesystem::file_type::directory) return "cannot be read: it is a directory";
  if (type == std::filesystem::file_type::character) return "cannot be read: it is a device";
  if (type == std::filesystem::file_type::fifo && may_be == pipes::refused)
    return "cannot be read: it is a pipe";
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  if (!in) return std::string{"cannot be read: "} + std::strerror(errno ? errno : EIO);
  std::string piece(1 << 16, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    if (auto error = sink(std::string_view{piece}.substr(0, static_cast<size_t>(in.gcount())));
        !error.empty())
      return error;
  }
  return in.bad() ? "cannot be read: it ended early" : "";
}

std::string too_large(uint64_t max_bytes) {
  return "cannot be read: it is larger than " + std::to_string(max_bytes >> 20) + " MiB";
}

}  // namespace

text_file read_text_file(const std::filesystem::path& file, pipes may_be) {
  text_file out;
  out.error = read_pieces(file, may_be, [&](std::string_view piece) -> std::string {
    if (out.content.size() + piece.size() > max_text_bytes) return too_large(max_text_bytes);
    out.content += piece;
    return {};
  });
  return out;
}

std::string reading_problem(const std::filesystem::path& file) {
  bool begun = false;
  const auto error = read_pieces(file, pipes::refused, [&](std::string_view) -> std::string {
    begun = true;
    return "stop";
  });
  return begun ? "" : error;
}

text_file fingerprint_of(const std::filesystem::path& file, uint64_t max_bytes) {
  fingerprint print;
  text_file out;
  uint64_t bytes = 0;
  out.error = read_pieces(file, pipes::refused, [&](std::string_view piece) -> std::string {
    if ((bytes += piece.size()) > max_bytes) return too_large(max_bytes);
    print.add(piece);
    return {};
  });
  out.content = print.hex();
  return out;
}

}  // namespace troupe
