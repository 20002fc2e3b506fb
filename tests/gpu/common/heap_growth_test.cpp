#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // their heap is not glibc's
#include "gpu/common/heap_growth.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <thread>
#include <vector>

using namespace troupe;

namespace {

using block = std::vector<std::byte>;
constexpr uint64_t small = 40'000, large = 50'000'000;  // a piece of an arena, and a mapping of its own
constexpr uint64_t slack = 100'000;                     // others of the process

bool is_about(uint64_t bytes, uint64_t expected) {
  return bytes >= expected && bytes <= expected + expected / 10 + slack;
}

}  // namespace

TEST_CASE("heap growth: blocks of all sizes count until they are freed") {
  const heap_growth growth;
  std::vector<block> kept;
  for (int i = 0; i < 100; ++i) kept.emplace_back(small);
  CHECK(is_about(growth.bytes(), 100 * small));
  kept.emplace_back(large);
  CHECK(is_about(growth.bytes(), 100 * small + large));
  kept.pop_back();
  CHECK(is_about(growth.bytes(), 100 * small));
  kept.clear();
  CHECK(growth.bytes() <= slack);
}

TEST_CASE("heap growth: what other threads allocate counts, and less than before is none") {
  block before(large);
  const heap_growth growth;
  block kept;
  std::thread([&] { kept.resize(large); }).join();
  CHECK(is_about(growth.bytes(), large));
  kept = block();
  before = block();
  CHECK(growth.bytes() == 0);
}
#endif
