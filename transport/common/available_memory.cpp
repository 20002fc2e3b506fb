#include "transport/common/available_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace troupe {
namespace {

std::optional<uint64_t> number_of(std::string_view meminfo, std::string_view name) {
  const auto found = meminfo.find(name);
  if (found == std::string_view::npos) return {};
  meminfo.remove_prefix(found + name.size());
  meminfo.remove_prefix(std::min(meminfo.find_first_not_of(' '), meminfo.size()));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(meminfo.data(), meminfo.data() + meminfo.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> available_memory() {
  std::ifstream file("/proc/meminfo");
  return available_memory(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::optional<uint64_t> available_memory(std::string_view meminfo) {
  const auto kib = number_of(meminfo, "MemAvailable:");
  const auto pages = number_of(meminfo, "HugePages_Free:"), page_kib = number_of(meminfo, "Hugepagesize:");
  constexpr uint64_t max_kib = UINT64_MAX >> 11;
  if (!kib || *kib > max_kib) return {};
  uint64_t huge = 0;
  if (pages && page_kib && __builtin_mul_overflow(*pages, *page_kib, &huge)) return {};
  return huge > max_kib ? std::nullopt : std::optional((*kib + huge) << 10);
}

void require_memory(uint64_t bytes) {
  if (const auto room = available_memory(); room && bytes > *room)
    throw std::runtime_error(fmt::format(
        "{} MiB of registered memory do not fit into the {} MiB that this machine has left: lower "
        "limits.pool_mb",
        bytes >> 20, *room >> 20));
}

}  // namespace troupe
