#include "transport/memory/large_blocks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "transport/common/mapped_memory.hpp"

using namespace troupe;

namespace {

constexpr uint64_t page = large_blocks::alignment;

struct arena {
  mapped_memory memory{16 * page};
  std::shared_ptr<large_blocks> blocks =
      large_blocks::in({memory.bytes(), memory_kind::host, uint64_t{3} << 48});
};

}  // namespace

TEST_CASE("large blocks: the lowest place that fits, at an offset that peers know") {
  arena a;
  auto first = a.blocks->take(5 * page - 7), second = a.blocks->take(page), third = a.blocks->take(10 * page);
  REQUIRE(first);
  REQUIRE(second);
  REQUIRE(third);
  CHECK(first->bytes.size() == 5 * page - 7);
  CHECK(first->offset == uint64_t{3} << 48);
  CHECK(second->offset == first->offset + 5 * page);
  CHECK(third->offset == second->offset + page);
  CHECK(a.blocks->in_use() == 16 * page);
  CHECK_FALSE(a.blocks->take(1));
  first.reset();
  CHECK_FALSE(a.blocks->take(6 * page));
  const auto again = a.blocks->take(5 * page);
  REQUIRE(again);
  CHECK(again->offset == uint64_t{3} << 48);
}

TEST_CASE("large blocks: a block lives as long as its last owner, and its pages go back") {
  arena a;
  auto one = a.blocks->take(4 * page);
  REQUIRE(one);
  std::ranges::fill(one->bytes, std::byte{7});
  const auto owner = one->owner;
  one.reset();
  CHECK(a.blocks->in_use() == 4 * page);
  CHECK(a.memory.bytes()[0] == std::byte{7});
  a.blocks.reset();
  CHECK(owner != nullptr);
}

TEST_CASE("large blocks: freed pages read as zeros") {
  arena a;
  auto one = a.blocks->take(4 * page);
  REQUIRE(one);
  std::ranges::fill(one->bytes, std::byte{7});
  one.reset();
  CHECK(a.blocks->in_use() == 0);
  CHECK(std::ranges::all_of(a.memory.bytes(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_CASE("large blocks: more than the arena, and nothing, is refused") {
  arena a;
  CHECK_FALSE(a.blocks->take(16 * page + 1));
  CHECK_FALSE(a.blocks->take(~uint64_t{0} / 2));
  CHECK_FALSE(a.blocks->take(0));
  CHECK(a.blocks->take(16 * page));
}
