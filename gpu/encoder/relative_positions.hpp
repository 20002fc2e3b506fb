// Attention biases by the distance of two tokens, as MPNet has them.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

inline constexpr uint32_t relative_buckets = 32;

/// The bucket of a distance: half of the buckets are for keys behind the query. Near keys have buckets of
/// their own, farther ones share them, by the logarithm of the distance.
/// Source: Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
/// Transformer" (2020), section 2.1; MPNet's ends at a distance of 128.
uint32_t relative_bucket(int64_t query, int64_t key);

/// [heads, tokens, tokens] by head, query and key. `table`: [relative_buckets, heads]. The biases of shorter
/// texts are the first rows and columns.
std::vector<float> relative_biases(std::span<const float> table, uint32_t heads, uint32_t tokens);

}  // namespace troupe
