#include "gpu/encoder/relative_positions.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using namespace troupe;

TEST_CASE("relative positions: buckets begin at the distances of MPNet in Transformers") {
  uint32_t expected = 0;
  const std::vector<std::pair<int64_t, uint32_t>> first_of{
      {0, 0}, {1, 1},  {2, 2},   {3, 3},   {4, 4},   {5, 5},   {6, 6},   {7, 7},
      {8, 8}, {12, 9}, {16, 10}, {23, 11}, {32, 12}, {46, 13}, {64, 14}, {91, 15}};
  for (size_t i = 0; i < first_of.size(); ++i) {
    const auto [first, bucket] = first_of[i];
    const auto end = i + 1 < first_of.size() ? first_of[i + 1].first : 600;
    CHECK(bucket == expected++);
    for (auto distance = first; distance < end; ++distance) {
      CAPTURE(distance);
      CHECK(relative_bucket(1000, 1000 - distance) == bucket);
      if (distance > 0) CHECK(relative_bucket(1000, 1000 + distance) == bucket + relative_buckets / 2);
    }
  }
}

TEST_CASE("relative positions: biases of shorter texts are the first rows and columns") {
  std::vector<float> table(relative_buckets * 2);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
  const auto few = relative_biases(table, 2, 3), many = relative_biases(table, 2, 7);
  CHECK(few[1] == table[17 * 2]);         // the key is behind the query by one
  CHECK(few[9 + 3] == table[1 * 2 + 1]);  // before it, of the other head
  for (size_t head = 0; head < 2; ++head)
    for (size_t query = 0; query < 3; ++query)
      for (size_t key = 0; key < 3; ++key)
        CHECK(few[(head * 3 + query) * 3 + key] == many[(head * 7 + query) * 7 + key]);
}
