// Request of a pull, as it travels to the owner of the memory, who then reads the ranges itself.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "transport/fabric/pull_plan.hpp"
#include "transport/fabric/pull_range.hpp"

namespace troupe {

struct pull_request {
  std::vector<pull_range> ranges;
  size_t early = 0;  ///< as in `pull_plan`
};

/// Bounds of the size of an encoded request.
inline constexpr size_t pull_request_head_bytes = 2 * sizeof(uint32_t);
inline constexpr size_t min_pull_request_bytes = pull_request_head_bytes + sizeof(pull_range);
inline constexpr size_t max_pull_request_bytes =
    pull_request_head_bytes + (max_early_ranges + max_last_ranges) * sizeof(pull_range);

/// In host byte order: the numbers of early and last ranges, and then the ranges.
std::vector<std::byte> encode_request(const pull_plan& plan);

/// Nothing if these bytes are no request, or beyond a bound of plans. The ranges may lie outside all memory.
std::optional<pull_request> decode_request(std::span<const std::byte> bytes);

}  // namespace troupe
