#include "transport/fabric/ucx/address.hpp"

#include <doctest/doctest.h>

#include "tests/transport/fabric/damaged_address.hpp"

using namespace troupe;

namespace {
const ucx_address sample{
    .node = node_id{3},
    .incarnation = incarnation_id{77},
    .secret = 0xfeed'0000'0001,
    .arenas = {{0x7f00'0000'1000, 1u << 30, "key"}, {0x7f00'8000'1000, 4096, "longer key"}},
    .worker = std::string(215, 'w')};
}

TEST_CASE("a decoded address equals the encoded one") {
  ucx_address out;
  REQUIRE(decode(encode(sample), out).empty());
  CHECK(out.node == sample.node);
  CHECK(out.incarnation == sample.incarnation);
  CHECK(out.secret == sample.secret);
  CHECK(out.worker == sample.worker);
  REQUIRE(out.arenas.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(out.arenas[i].base == sample.arenas[i].base);
    CHECK(out.arenas[i].bytes == sample.arenas[i].bytes);
    CHECK(out.arenas[i].key == sample.arenas[i].key);
  }
}

TEST_CASE("a flipped bit, a truncation or an extra byte of an address is detected") {
  troupe::testing::check_that_damage_is_detected<ucx_address>(encode(sample));
}
