#include "transport/fabric/arenas.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

using namespace troupe;

TEST_CASE("arenas: ranges are found inside one arena only") {
  std::vector<std::byte> first(100), second(50);
  arenas all;
  CHECK(all.add(first, memory_kind::host).offset == 0);
  const auto base = all.add(second, memory_kind::host).offset;
  CHECK(base == uint64_t{1} << arena_offset_bits);
  CHECK(all.sizes() == std::vector<uint64_t>{100, 50});

  REQUIRE(all.find({10, 90}));
  CHECK(all.find({10, 90})->data() == first.data() + 10);
  REQUIRE(all.find({base + 49, 1}));
  CHECK(all.find({base + 49, 1})->data() == second.data() + 49);
  CHECK(all.find({base + 50, 0}));
  CHECK(!all.find({10, 91}));
  CHECK(!all.find({101, 0}));
  CHECK(!all.find({base - 1, 2}));
  CHECK(!all.find({base + 1, 50}));
  CHECK(!all.find({2 * base, 0}));
  CHECK(!all.find({~uint64_t{0}, 1}));
  CHECK(!all.find({base, ~uint64_t{0}}));
}

TEST_CASE("arenas: their number is bounded") {
  arenas all;
  for (size_t i = 0; i < max_arenas; ++i) all.add({}, memory_kind::host);
  CHECK_THROWS_AS(all.add({}, memory_kind::host), std::runtime_error);
}
