#include "gpu/llm/vocabulary_part.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using troupe::llm::vocabulary_part;

TEST_CASE("parts of a vocabulary are consecutive, cover it, and have equal sizes except the last ones") {
  for (const uint32_t vocabulary : {1U, 9U, 256U, 300U, 32000U, 128257U})
    for (const uint32_t ranks : {1U, 2U, 3U, 4U, 16U}) {
      CAPTURE(vocabulary);
      CAPTURE(ranks);
      uint32_t end = 0;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const vocabulary_part part(vocabulary, rank, ranks);
        CHECK(part.max_count % 4 == 0);
        CHECK(part.max_count < vocabulary / ranks + 5);
        CHECK(part.first == end);
        CHECK(part.count == std::min(part.max_count, vocabulary - end));
        end += part.count;
      }
      CHECK(end == vocabulary);
    }
}
