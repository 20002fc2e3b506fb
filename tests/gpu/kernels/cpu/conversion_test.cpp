#include "gpu/kernels/conversion.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "tests/gpu/kernels/cpu/kernel_cases.hpp"

using namespace troupe;
using namespace troupe::kernels;

namespace {

std::vector<float> numbers_in(const guarded& g) {
  std::vector<float> out;
  for (size_t i = 0; i < g.size(); ++i) out.push_back(g.at(i));
  return out;
}

/// Whether both conversions of the numbers are the same, and write nothing else.
bool conversions_agree(const guarded& from, element to) {
  guarded out(from.size(), to), expected(from.size(), to);
  conversion({from.data(), from.type(), out.data(), to, from.size()});
  conversion_reference({from.data(), from.type(), expected.data(), to, from.size()});
  return out.intact() && same_bits(numbers_in(out).data(), numbers_in(expected).data(), from.size());
}

}  // namespace

TEST_CASE("numbers are converted from any type to any type, however many there are") {
  with_each_isa([] {
    std::mt19937 random(3);
    for (const element from : all_elements)
      for (const element to : all_elements)
        for (const size_t count : {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 64, 100, 1000}) {
          CAPTURE(count);
          CHECK(conversions_agree(random_numbers(count, random, from), to));
        }
  });
}

TEST_CASE("floats are rounded to nearest, ties to even, with their zeros, infinities and NaNs") {
  with_each_isa([] {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> special{0.0F,       -0.0F,     inf,       -inf,         not_a_number, 65504.0F,
                                     65519.9F,   65520.0F,  -65520.0F, 1e30F,        0x1p-24F,     0x1p-25F,
                                     0x1.8p-24F, 0x1p-26F,  0x1p-14F,  0x1.ffcp-15F, 0x1.002p0F,   0x1.006p0F,
                                     0x1.01p0F,  0x1.03p0F, 0x1p-140F, 3.4e38F,      -0x1.8p-25F};
    guarded from(special.size());
    for (size_t i = 0; i < special.size(); ++i) from.set(i, special[i]);
    for (const element to : all_elements) CHECK(conversions_agree(from, to));
    guarded out(special.size(), element::f16);
    conversion({from.data(), element::f32, out.data(), element::f16, special.size()});
    CHECK(out.at(16) == 1.0F);            // halfway between 1 and the next, to even
    CHECK(out.at(17) == 1.0F + 0x1p-9F);  // halfway between the next and that
    CHECK(out.at(7) == inf);
  });
}
