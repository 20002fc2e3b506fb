#include "transport/fabric/pull_request.hpp"

#include <cstdint>
#include <cstring>

namespace troupe {
namespace {

struct range_counts {
  uint32_t early = 0, last = 0;
};
static_assert(sizeof(range_counts) == pull_request_head_bytes);

}  // namespace

std::vector<std::byte> encode_request(const pull_plan& plan) {
  const range_counts counts{static_cast<uint32_t>(plan.early),
                            static_cast<uint32_t>(plan.ranges.size() - plan.early)};
  std::vector<std::byte> out(sizeof counts + plan.ranges.size() * sizeof(pull_range));
  std::memcpy(out.data(), &counts, sizeof counts);
  auto* at = out.data() + sizeof counts;
  for (const auto& r : plan.ranges) {
    const auto range = r.range();
    std::memcpy(at, &range, sizeof range);
    at += sizeof range;
  }
  return out;
}

std::optional<pull_request> decode_request(std::span<const std::byte> bytes) {
  range_counts counts;
  if (bytes.size() < sizeof counts) return {};
  std::memcpy(&counts, bytes.data(), sizeof counts);
  bytes = bytes.subspan(sizeof counts);
  const size_t all = size_t{counts.early} + counts.last;
  if (counts.early > max_early_ranges || counts.last == 0 || counts.last > max_last_ranges ||
      bytes.size() != all * sizeof(pull_range))
    return {};
  pull_request out{std::vector<pull_range>(all), counts.early};
  std::memcpy(out.ranges.data(), bytes.data(), bytes.size());
  uint64_t last_bytes = 0;
  for (size_t i = out.early; i < all; ++i) {
    if (out.ranges[i].size > max_last_bytes) return {};
    last_bytes += out.ranges[i].size;
  }
  if (last_bytes > max_last_bytes) return {};
  return out;
}

}  // namespace troupe
