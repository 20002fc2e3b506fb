#include "tools/common/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "config/problem.hpp"

namespace troupe {
namespace {

constexpr size_t kept_bytes = 4096;
std::string reported;  // guarded by the lock of stderr
bool document_printed = false;

void keep(std::string_view line) noexcept {
  try {
    if (!reported.empty()) reported += '\n';
    reported += line;
    if (reported.size() > kept_bytes) reported.erase(0, reported.size() - kept_bytes);
  } catch (...) {  // without memory it is only written
  }
}

}  // namespace

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      open("/dev/null", O_RDWR);  // the lowest descriptor free
}

void report_line(std::string_view line) noexcept {
  std::string clean;
  try {
    clean = one_line(std::string(line));
    line = clean;
  } catch (...) {  // without memory it is written as it is
  }
  flockfile(stderr);
  fwrite_unlocked(line.data(), 1, line.size(), stderr);
  putc_unlocked('\n', stderr);
  keep(line);
  funlockfile(stderr);
}

void print_document(std::string_view text) {
  document_printed = true;
  fmt::print("{}\n", text);
}

bool has_printed_document() { return document_printed; }

std::string reported_lines() {
  flockfile(stderr);
  auto lines = reported;
  funlockfile(stderr);
  return lines;
}

std::string flush_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (written) return {};
  return errno == 0 ? "a line before was lost; is the disk full, or its reader gone?" : std::strerror(errno);
}

}  // namespace troupe
