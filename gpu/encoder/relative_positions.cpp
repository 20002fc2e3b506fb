#include "gpu/encoder/relative_positions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace troupe {

uint32_t relative_bucket(int64_t query, int64_t key) {
  constexpr uint32_t half = relative_buckets / 2, near = half / 2;
  constexpr float farthest = 128;
  const uint32_t first = key > query ? half : 0;
  const auto distance = static_cast<uint32_t>(std::abs(query - key));
  if (distance < near) return first + distance;
  // in single precision, as the models were trained
  const float share = std::log(static_cast<float>(distance) / near) / std::log(farthest / near);
  return first + std::min(half - 1, near + static_cast<uint32_t>(share * (half - near)));
}

std::vector<float> relative_biases(std::span<const float> table, uint32_t heads, uint32_t tokens) {
  std::vector<float> out(size_t{heads} * tokens * tokens);
  auto to = out.begin();
  for (uint32_t head = 0; head < heads; ++head)
    for (uint32_t query = 0; query < tokens; ++query)
      for (uint32_t key = 0; key < tokens; ++key)
        *to++ = table[size_t{relative_bucket(query, key)} * heads + head];
  return out;
}

}  // namespace troupe
