// The tokens whose logits a rank computes, of ranks that share the rows of the head (Megatron-LM's
// vocabulary-parallel output layer).
#pragma once
#include <algorithm>
#include <cstdint>

namespace troupe::llm {

/// Neighbouring tokens: all ranks have as many, but for the last ones, which may have fewer, or none.
struct vocabulary_part {
  /// Requires: rank < ranks.
  vocabulary_part(uint32_t vocabulary, uint32_t rank, uint32_t ranks)
      : max_count(((vocabulary + ranks - 1) / ranks + 3) / 4 * 4),
        first(std::min(rank * max_count, vocabulary)),
        count(std::min(max_count, vocabulary - first)) {}

  uint32_t max_count;  ///< of any rank; a multiple of 4: as floats, 16 bytes are moved at once
  uint32_t first, count;
};

}  // namespace troupe::llm
