#include "gpu/kernels/cuda/attention_plan.hpp"

#include <doctest/doctest.h>

using namespace troupe::cuda;

TEST_CASE("attention plan: single rows are decodes, runs of rows are prefills") {
  attention_plan plan;
  // a prompt of 134 rows from position 5 on, one of two rows, a decode at 130, another at 0
  std::vector<uint32_t> sequence(134, 0), position;
  for (uint32_t i = 0; i < 134; ++i) position.push_back(5 + i);
  sequence.insert(sequence.end(), {1, 1, 2, 3});
  position.insert(position.end(), {0, 1, 130, 0});
  plan.make(sequence, position);
  REQUIRE(plan.prefill.size() == 3);
  CHECK(plan.prefill[0].first_row == 128);  // the one with the longest context comes first
  CHECK(plan.prefill[0].rows == 6);
  CHECK(plan.prefill[0].first_position == 133);
  CHECK(plan.prefill[1].first_row == 0);
  CHECK(plan.prefill[1].rows == 128);
  CHECK(plan.prefill[2].first_row == 134);
  CHECK(plan.prefill[2].sequence == 1);
  REQUIRE(plan.decode.size() == 3);
  CHECK(plan.decode[0].row == 136);
  CHECK(plan.decode[1].chunk == 1);
  CHECK(plan.decode[1].position == 130);
  CHECK(plan.decode[2].sequence == 3);
  plan.make({}, {});
  CHECK(plan.decode.empty());
  CHECK(plan.prefill.empty());
}

TEST_CASE("attention plan: chunks grow with the sequence") {
  CHECK(decode_chunk(0) == 128);
  CHECK(decode_chunk(128 * 64 - 1) == 128);
  CHECK(decode_chunk(128 * 64) == 256);
  CHECK(decode_chunk(130000) / 16 * 16 == decode_chunk(130000));
  CHECK(130000 / decode_chunk(130000) < max_chunks);
}
