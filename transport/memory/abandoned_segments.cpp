#include "transport/memory/abandoned_segments.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "ucx_shm_posix_";

using file_id = std::pair<dev_t, ino_t>;

/// Calls `each` for the entries of a folder; for none if it cannot be read or vanishes.
template <class Each>
void for_each_entry(const fs::path& folder, Each each) {
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) each(it->path());
}

void add_open_files(const fs::path& process, std::set<file_id>& used) {
  for_each_entry(process / "fd", [&](const fs::path& descriptor) {
    struct stat s {};
    if (::stat(descriptor.c_str(), &s) == 0) used.emplace(s.st_dev, s.st_ino);
  });
}

/// A line of `maps` is "addresses rights offset major:minor inode path".
void add_mapped_files(const fs::path& process, std::set<file_id>& used) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string addresses, rights, offset;
    unsigned major = 0, minor = 0;
    char colon = 0;
    ino_t inode = 0;
    words >> addresses >> rights >> offset >> std::hex >> major >> colon >> minor >> std::dec >> inode;
    if (words && inode != 0) used.emplace(makedev(major, minor), inode);
  }
}

std::set<file_id> files_in_use() {
  std::set<file_id> used;
  for_each_entry("/proc", [&](const fs::path& process) {
    if (process.filename().string().find_first_not_of("0123456789") != std::string::npos) return;
    add_open_files(process, used);
    add_mapped_files(process, used);
  });
  return used;
}

}  // namespace

removed_segments remove_abandoned_segments(const fs::path& folder, fs::file_time_type written_before) {
  struct segment {
    fs::path path;
    uint64_t bytes;
  };
  std::map<file_id, segment> found;  // before looking for users: a file that appears later is not in it
  for_each_entry(folder, [&](const fs::path& path) {
    if (!path.filename().string().starts_with(prefix)) return;
    struct stat s {};
    std::error_code ec;
    if (::lstat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != ::geteuid()) return;
    if (const auto written = fs::last_write_time(path, ec); ec || written >= written_before) return;
    found.emplace(file_id{s.st_dev, s.st_ino}, segment{path, static_cast<uint64_t>(s.st_blocks) * 512});
  });
  removed_segments removed;
  if (found.empty()) return removed;
  const auto used = files_in_use();
  for (const auto& [id, segment] : found) {
    std::error_code ec;
    if (used.contains(id) || !fs::remove(segment.path, ec)) continue;
    ++removed.count;
    removed.bytes += segment.bytes;
  }
  return removed;
}

}  // namespace troupe
