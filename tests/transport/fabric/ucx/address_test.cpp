#include "transport/fabric/ucx/address.hpp"

#include <doctest/doctest.h>

#include "tests/transport/fabric/damaged_address.hpp"

using namespace troupe;

namespace {
const ucx_address sample{.node = node_id{3},
                         .incarnation = incarnation_id{77},
                         .secret = 0xfeed'0000'0001,
                         .pool_base = 0x7f00'0000'1000,
                         .pool_bytes = 1u << 30,
                         .worker = std::string(215, 'w'),
                         .pool_key = "key"};
}

TEST_CASE("a decoded address equals the encoded one") {
  ucx_address out;
  REQUIRE(decode(encode(sample), out).empty());
  CHECK(out.node == sample.node);
  CHECK(out.incarnation == sample.incarnation);
  CHECK(out.secret == sample.secret);
  CHECK(out.pool_base == sample.pool_base);
  CHECK(out.pool_bytes == sample.pool_bytes);
  CHECK(out.worker == sample.worker);
  CHECK(out.pool_key == sample.pool_key);
}

TEST_CASE("a flipped bit, a truncation or an extra byte of an address is detected") {
  troupe::testing::check_that_damage_is_detected<ucx_address>(encode(sample));
}
