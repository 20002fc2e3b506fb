#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace troupe {

struct text_file {
  std::string content;
  std::string error;  ///< "cannot be read: No such file or directory"; empty: it was read
};

/// A pipe, such as a shell's `<(command)`, blocks its reader until it is written: not for files that
/// untrusted clients may name.
enum class pipes { allowed, refused };

/// The whole file. Directories, devices and files beyond 64 MiB are refused.
text_file read_text_file(const std::filesystem::path& file, pipes may_be = pipes::allowed);

/// The reason why a file cannot be read, or nothing. Reads only its beginning, because weights may be large.
/// No pipes.
std::string reading_problem(const std::filesystem::path& file);

inline constexpr uint64_t max_text_bytes = 64 << 20;

/// The fingerprint of a file's bytes, in `content`. Reads piece by piece, because weights may be large, and
/// at most `max_bytes`: a larger file is an error. No pipes.
text_file fingerprint_of(const std::filesystem::path& file, uint64_t max_bytes = max_text_bytes);

}  // namespace troupe
