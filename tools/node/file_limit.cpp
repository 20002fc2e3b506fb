#include "tools/node/file_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <limits>

namespace troupe {
namespace {

// An idle node of a cluster of eight has 40 open: logs, libraries, threads' event descriptors, and two
// connections to each peer.
constexpr uint64_t files_of_a_node = 48, files_of_a_peer = 6;

}  // namespace

uint64_t raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return std::numeric_limits<uint64_t>::max();
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  ::getrlimit(RLIMIT_NOFILE, &files);
  return files.rlim_cur == RLIM_INFINITY ? std::numeric_limits<uint64_t>::max() : files.rlim_cur;
}

std::string file_limit_problem(const std::string& node, uint64_t files, size_t nodes) {
  const auto needed = files_of_a_node + files_of_a_peer * nodes;
  if (files >= needed) return {};
  return fmt::format(
      "node '{}' may open {} files and needs at least {}: raise the limit (ulimit -Hn, LimitNOFILE)", node,
      files, needed);
}

}  // namespace troupe
