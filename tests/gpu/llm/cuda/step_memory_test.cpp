#include "gpu/llm/cuda/step_memory.hpp"

#include <doctest/doctest.h>

using namespace troupe::cuda;

TEST_CASE("step memory: decode steps share graphs of 1, 2, 4 and multiples of 8 rows") {
  for (const auto& [rows, graph] :
       {std::pair{1U, 1U}, {2U, 2U}, {3U, 4U}, {4U, 4U}, {5U, 8U}, {8U, 8U}, {9U, 16U}})
    CHECK(graph_rows(rows) == graph);
  CHECK(graph_rows(max_graph_rows) == max_graph_rows);
}

TEST_CASE("step memory: a graph's extent depends on its rows and on whether there are adapters") {
  step_extent step{.rows = 5, .sampled = 5, .sequences = 5, .block_entries = 20, .decode_items = 7};
  CHECK(graph_extent(step).rows == 8);
  CHECK(graph_extent(step).sampled == 8);
  CHECK(graph_extent(step).tiles == 0);
  CHECK(graph_extent(step).decode_items == 1);
  step.tiles = 1;
  CHECK(graph_extent(step).tiles == 8);
}

TEST_CASE("step memory: tables are in one allocation, aligned, without overlap") {
  const step_extent extent{.rows = 3,
                           .sampled = 2,
                           .sequences = 2,
                           .block_entries = 5,
                           .tiles = 1,
                           .decode_items = 3,
                           .prefill_items = 1,
                           .adjustments = 2};
  const table_layout at(extent);
  const size_t offsets[] = {at.counts,      at.tokens,      at.positions, at.row_sequence, at.sampled,
                            at.block_start, at.blocks,      at.tiles,     at.decode_items, at.prefill_items,
                            at.samplings,   at.adjustments, at.bytes};
  const size_t sizes[] = {sizeof(step_counts),
                          12,
                          12,
                          12,
                          8,
                          12,
                          20,
                          sizeof(lora_tile),
                          3 * sizeof(decode_item),
                          sizeof(prefill_item),
                          2 * sizeof(row_sampling),
                          2 * sizeof(token_adjustment)};
  for (size_t i = 0; i < std::size(sizes); ++i) {
    CHECK(offsets[i] % 16 == 0);
    CHECK(offsets[i] + sizes[i] <= offsets[i + 1]);
  }
}

TEST_CASE("step memory: an extent holds another if it has room for each of its parts") {
  const step_extent small{.rows = 2, .adjustments = 1}, large{.rows = 4, .sampled = 1, .adjustments = 1};
  CHECK(large.holds(small));
  CHECK(small.holds(small));
  CHECK_FALSE(small.holds(large));
}
