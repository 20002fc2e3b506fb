#include "gpu/kernels/cuda/gather_kernel.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

struct found {
  std::vector<float> values;
  kernel_fault fault;
};

/// Slices of `slice` floats, in words of W bytes.
template <uint32_t W, class Index>
found gather(uint32_t outer, uint32_t bound, uint32_t slice, const std::vector<Index>& picks) {
  shared_array<float> from(size_t{outer} * bound * slice), to(outer * picks.size() * slice);
  for (uint32_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  const shared_array<Index> indices(picks);
  shared_array<kernel_fault> fault(1);
  fault[0] = {};
  gather_kernel<W> k;
  k.from = from.data(), k.indices = indices.data(), k.wide = sizeof(Index) == 8, k.to = to.data();
  k.picks = static_cast<uint32_t>(picks.size()), k.bound = bound, k.slice = slice * 4 / W;
  k.count = static_cast<uint32_t>(to.size() * 4 / W), k.fault = fault.data();
  run_kernel(k, k.grid(), slice);
  CHECK(to.intact());
  CHECK(fault.intact());
  return {to.values(), fault[0]};
}

template <uint32_t W, class Index>
void check_gather(uint32_t outer, uint32_t bound, uint32_t slice) {
  CAPTURE(W);
  CAPTURE(outer);
  CAPTURE(bound);
  CAPTURE(slice);  // the seed, too
  std::mt19937 random(slice);
  std::vector<Index> picks(9);
  for (auto& p : picks) p = static_cast<Index>(random() % (2 * bound)) - static_cast<Index>(bound);
  const auto got = gather<W>(outer, bound, slice, picks);
  CHECK(got.fault.found == 0);
  wrong_elements wrong;
  for (uint32_t o = 0; o < outer; ++o)
    for (uint32_t i = 0; i < picks.size(); ++i)
      for (uint32_t s = 0; s < slice; ++s) {
        const auto pick =
            static_cast<uint32_t>(picks[i] < 0 ? picks[i] + static_cast<Index>(bound) : picks[i]);
        const size_t at = (o * picks.size() + i) * slice + s;
        const auto expected = static_cast<float>((o * bound + pick) * slice + s);
        wrong.check(got.values[at] == expected, at, expected, got.values[at]);
      }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("gather kernel: indices select slices, negative ones from the end") {
  check_gather<4, int64_t>(1, 50, 1);
  check_gather<4, int32_t>(3, 4, 5);
  check_gather<8, int64_t>(2, 3, 130);
  check_gather<16, int64_t>(1, 7, 768);
}

TEST_CASE("gather kernel: an index out of range is reported, and nothing outside is read") {
  CHECK(gather<4, int64_t>(1, 5, 3, {0, 5}).fault.value == 5);
  CHECK(gather<4, int64_t>(1, 5, 3, {-6, 1}).fault.value == -6);
  CHECK(gather<4, int64_t>(1, 5, 3, {int64_t{1} << 40}).fault.found == 1);
  CHECK(gather<4, int64_t>(1, 5, 3, {-5, 4}).fault.found == 0);
}
