#include "gpu/llm/cuda/step_buffers.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <new>
#include <numeric>

#include "tests/gpu/kernels/cuda/emulated_machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Counts copies to the device, and their bytes.
struct counting_machine : emulated_machine {
  void upload(void* to, const void* from, size_t size) {
    ++copies, bytes += size;
    emulated_machine::upload(to, from, size);
  }
  uint32_t copies = 0;
  size_t bytes = 0;
};

/// A decode step of `rows` sequences with `blocks` blocks each.
struct decode_step {
  explicit decode_step(uint32_t rows, uint32_t blocks = 1) {
    step.block_start = {0}, step.segment_end = {0, rows}, step.segment_adapters = {llm::base_model};
    for (uint32_t r = 0; r < rows; ++r) {
      step.tokens.push_back(static_cast<llm::token>(100 + r)), step.positions.push_back(r);
      step.row_sequence.push_back(r), step.sampled.push_back(r);
      step.sequences.push_back(llm::sequence_id{r + 1});
      for (uint32_t b = 0; b < blocks; ++b) step.blocks.push_back(r * blocks + b);
      step.block_start.push_back(static_cast<uint32_t>(step.blocks.size()));
    }
    contents.plan.make(step.row_sequence, step.positions);
    kernels::sampling_args greedy;
    greedy.vocabulary = 256, greedy.parameters.temperature = 0;
    for (uint32_t r = 0; r < rows; ++r) contents.to_choose.add(greedy);
  }
  step_extent extent() const { return contents.extent(step); }

  llm::llm_step step;
  step_contents contents;
};

const decoder_shape shape{.layers = 1,
                          .hidden = 16,
                          .intermediate = 16,
                          .heads = 1,
                          .kv_heads = 1,
                          .head_dim = 16,
                          .vocabulary = 256,
                          .block_tokens = 16};

}  // namespace

TEST_CASE("step buffers: tables are copied to the device, with tiles without rows up to a graph's grid") {
  emulated_machine m;
  step_buffers<emulated_machine> buffers(m, shape);
  for (const uint32_t rows : {3, 1}) {
    decode_step s(rows, 2);
    s.contents.tiles = {{0, rows, 5}};
    buffers.reserve(s.extent(), 0);
    buffers.upload_tables(s.step, s.contents, 0);
    m.finish();
    const step_tables t = buffers.tables();
    CHECK(t.counts->rows == rows);
    CHECK(t.counts->sampled == rows);
    CHECK(t.counts->decode_items == rows);
    CHECK(std::equal(s.step.tokens.begin(), s.step.tokens.end(), t.tokens));
    CHECK(std::equal(s.step.blocks.begin(), s.step.blocks.end(), t.blocks));
    CHECK(t.decode_items[rows - 1].position == rows - 1);
    CHECK(t.tiles[0] == lora_tile{0, rows, 5});
    for (uint32_t i = 1; i < max_graph_rows; ++i) CHECK(t.tiles[i].rows == 0);
  }
}

TEST_CASE("step buffers: a larger step keeps the tokens that the step before chose") {
  emulated_machine m;
  step_buffers<emulated_machine> buffers(m, shape);
  const decode_step small(2), large(700);
  buffers.reserve(small.extent(), 0);
  m.finish();
  for (uint32_t i = 0; i < 2; ++i) buffers.activations().chosen[i].chosen.token = 40 + i;
  buffers.download_chosen(2, 0);
  m.finish();
  REQUIRE(buffers.chosen(0).size() == 2);
  CHECK(buffers.chosen(0)[1].chosen.token == 41);
  const sampled_row* before = buffers.activations().chosen;
  buffers.reserve(large.extent(), 1);
  m.finish();
  CHECK(buffers.activations().chosen != before);
  for (uint32_t i = 0; i < 2; ++i) CHECK(buffers.activations().chosen[i].chosen.token == 40 + i);
  CHECK(buffers.chosen(0)[0].chosen.token == 40);
}

TEST_CASE("step buffers: the gaps that a larger step leaves between tables are not copied") {
  counting_machine m;
  step_buffers<counting_machine> buffers(m, shape);
  decode_step small(4), large(4, 30000);
  buffers.reserve(small.extent(), 0);
  buffers.upload_tables(small.step, small.contents, 0);
  CHECK(m.copies == 1);
  const size_t compact = m.bytes;
  buffers.reserve(large.extent(), 1);
  buffers.reserve(small.extent(), 0);
  m.copies = 0, m.bytes = 0;
  buffers.upload_tables(small.step, small.contents, 0);
  CHECK(m.copies == 2);
  CHECK(m.bytes < compact);
  m.finish();
  CHECK(buffers.tables().decode_items[3].row == 3);
}

TEST_CASE("step buffers: after a step without room a smaller step fits") {
  emulated_machine m;
  step_buffers<emulated_machine> buffers(m, shape);
  const decode_step small(2), large(4000);
  buffers.reserve(small.extent(), 0);
  const auto restore = [](void*) {
    emulated_machine::memory::max_bytes = std::numeric_limits<size_t>::max();
  };
  const std::unique_ptr<void, decltype(restore)> guard(&m, restore);
  emulated_machine::memory::max_bytes = 1 << 20;
  CHECK_THROWS_AS(buffers.reserve(large.extent(), 0), std::bad_alloc);
  CHECK_NOTHROW(buffers.reserve(small.extent(), 0));
}
