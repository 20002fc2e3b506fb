#include "gpu/kernels/cuda/lora_pack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace troupe::cuda;

namespace {

std::vector<uint16_t> counted_up(size_t n) {
  std::vector<uint16_t> all(n);
  std::iota(all.begin(), all.end(), uint16_t{1});
  return all;
}

/// The word `word` of lane `lane` of fragment `fragment`, as two numbers.
std::pair<uint16_t, uint16_t> word(const std::vector<uint16_t>& packed, size_t fragment, uint32_t lane,
                                   uint32_t word) {
  const size_t at = fragment * 256 + lane * 8 + word * 2;
  return {packed[at], packed[at + 1]};
}

}  // namespace

TEST_CASE("packed lora: every number occurs once, and the padding is zero") {
  for (const auto& [rank, n] :
       std::vector<std::pair<uint32_t, size_t>>{{1, 1}, {16, 64}, {5, 40}, {17, 65}, {40, 200}}) {
    const std::vector<uint16_t> from = counted_up(rank * n);
    std::vector<uint16_t> a(packed_a_bytes(rank, n) / 2, 0xffff), b(packed_b_bytes(rank, n) / 2, 0xffff);
    pack_lora_a(from.data(), rank, n, a.data());
    pack_lora_b(from.data(), rank, n, b.data());
    for (std::vector<uint16_t>* packed : {&a, &b}) {
      std::ranges::sort(*packed);
      const size_t zeros = packed->size() - from.size();
      CHECK(std::ranges::count(*packed, 0) == static_cast<ptrdiff_t>(zeros));
      CHECK(std::equal(packed->begin() + static_cast<ptrdiff_t>(zeros), packed->end(), from.begin()));
    }
  }
}

TEST_CASE("packed lora: a lane's words of A match its sixteen bytes of x") {
  const uint32_t rank = 32;
  const size_t in = 64;
  const std::vector<uint16_t> a = counted_up(rank * in);
  std::vector<uint16_t> packed(packed_a_bytes(rank, in) / 2);
  pack_lora_a(a.data(), rank, in, packed.data());
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t g = lane / 4, q = lane % 4;
    // ranks 16 .. 31, inputs 32 .. 63: the second block of both
    for (uint32_t s = 0; s < 2; ++s) {
      const size_t fragment = (1 * (in / 32) + 1) * 2 + s;
      const size_t row = (16 + g) * in + 32 + 8 * q + 4 * s;
      CHECK(word(packed, fragment, lane, 0) == std::pair{a[row], a[row + 1]});
      CHECK(word(packed, fragment, lane, 1) == std::pair{a[row + 8 * in], a[row + 8 * in + 1]});
      CHECK(word(packed, fragment, lane, 2) == std::pair{a[row + 2], a[row + 3]});
      CHECK(word(packed, fragment, lane, 3) == std::pair{a[row + 8 * in + 2], a[row + 8 * in + 3]});
    }
  }
}

TEST_CASE("packed lora: a lane's words of B give eight consecutive outputs") {
  const uint32_t rank = 32;
  const size_t out = 128;
  const std::vector<uint16_t> b = counted_up(rank * out);
  std::vector<uint16_t> packed(packed_b_bytes(rank, out) / 2);
  pack_lora_b(b.data(), rank, out, packed.data());
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t g = lane / 4, q = lane % 4;
    for (uint32_t m = 0; m < 4; ++m) {
      const size_t fragment = (1 * (rank / 16) + 1) * 4 + m;  // outputs 64 .. 127, ranks 16 .. 31
      const size_t at = (16 + 2 * q) * out + 64 + 8 * g + 2 * m;
      CHECK(word(packed, fragment, lane, 0) == std::pair{b[at], b[at + out]});
      CHECK(word(packed, fragment, lane, 1) == std::pair{b[at + 1], b[at + out + 1]});
      CHECK(word(packed, fragment, lane, 2) == std::pair{b[at + 8 * out], b[at + 9 * out]});
      CHECK(word(packed, fragment, lane, 3) == std::pair{b[at + 8 * out + 1], b[at + 9 * out + 1]});
    }
  }
}
