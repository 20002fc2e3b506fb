// A rank's part of the vocabulary: the head's rows are split over the ranks (Megatron-LM's
// vocabulary-parallel output layer).
#pragma once
#include <algorithm>
#include <cstdint>

namespace troupe::llm {

/// A contiguous range of tokens. All ranks have the same number, except the last ones, which may have fewer
/// or none.
struct vocabulary_part {
  /// Requires: rank < ranks.
  vocabulary_part(uint32_t vocabulary, uint32_t rank, uint32_t ranks)
      : max_count(((vocabulary + ranks - 1) / ranks + 3) / 4 * 4),
        first(std::min(rank * max_count, vocabulary)),
        count(std::min(max_count, vocabulary - first)) {}

  uint32_t max_count;  ///< largest of all ranks; a multiple of 4, as 16 bytes are moved at once
  uint32_t first, count;
};

}  // namespace troupe::llm
