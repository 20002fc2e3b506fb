// A test that fails, for gpu_check_test.py: its kernel leaves out the last row.
#include <doctest/doctest.h>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe::cuda;

namespace {

struct constant_kernel {
  static constexpr uint32_t threads = 32, cluster = 1;
  size_t shared_bytes() const { return 0; }
  float* to;
  uint32_t count;

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    for (uint32_t i = t.index(); i < count; i += threads) to[i] = 1.5F;
  }
};

}  // namespace

TEST_CASE("a kernel that leaves out its last row") {
  constexpr uint32_t rows = 4, width = 16, seed = 7;
  CAPTURE(width);
  CAPTURE(seed);
  shared_array<float> to(rows * width);
  run_kernel(constant_kernel{to.data(), (rows - 1) * width}, {1, 1, 1}, seed);
  CHECK(troupe::differences(to, std::vector<float>(rows * width, 1.5F)) == 0);
}
