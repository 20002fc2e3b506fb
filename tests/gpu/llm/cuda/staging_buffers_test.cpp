#include "gpu/llm/cuda/staging_buffers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/gpu/kernels/cuda/emulated_machine.hpp"

using namespace troupe::cuda;

TEST_CASE("staging buffers: bytes arrive in order, however often the buffers are used again") {
  emulated_machine machine;
  staging_buffers<emulated_machine> staging(machine, 10);
  for (const size_t count : {0U, 1U, 9U, 10U, 11U, 20U, 21U, 57U, 100U}) {
    CAPTURE(count);
    std::vector<std::byte> from(count), to(count + 1);
    for (size_t i = 0; i < count; ++i) from[i] = static_cast<std::byte>(i + 1);
    staging.copy(to.data(), from);
    CHECK(std::equal(from.begin(), from.end(), to.begin()));
    CHECK(to.back() == std::byte{0});
  }
}

TEST_CASE("staging buffers: take their memory for a copy, and give it back") {
  emulated_machine machine;
  const auto taken = [before = emulated_machine::host_memory::taken.load()] {
    return emulated_machine::host_memory::taken - before;
  };
  staging_buffers<emulated_machine> staging(machine, 1000);
  CHECK(taken() == 0);
  const std::vector<std::byte> from(5000, std::byte{7});
  for (int i = 0; i < 2; ++i) {
    std::vector<std::byte> to(from.size());
    staging.copy(to.data(), from);
    CHECK(to == from);
    CHECK(taken() == 2000);
    staging.release();
    CHECK(taken() == 0);
  }
}
