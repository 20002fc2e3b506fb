#include "transport/available_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace troupe {

std::optional<uint64_t> available_memory() {
  std::ifstream file("/proc/meminfo");
  return available_memory(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::optional<uint64_t> available_memory(std::string_view meminfo) {
  constexpr std::string_view name = "MemAvailable:";
  const auto found = meminfo.find(name);
  if (found == std::string_view::npos) return {};
  meminfo.remove_prefix(found + name.size());
  meminfo.remove_prefix(std::min(meminfo.find_first_not_of(' '), meminfo.size()));
  uint64_t kib = 0;
  const auto [end, error] = std::from_chars(meminfo.data(), meminfo.data() + meminfo.size(), kib);
  if (error != std::errc{} || kib > UINT64_MAX >> 10) return {};
  return kib << 10;
}

}  // namespace troupe
