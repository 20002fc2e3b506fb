#include "transport/fabric/tls/address.hpp"

#include <doctest/doctest.h>

#include "tests/transport/fabric/damaged_address.hpp"

#include "transport/fabric/ucx/address.hpp"

using namespace troupe;

namespace {
const tls_address at_a_host{.node = node_id{3},
                            .incarnation = incarnation_id{77},
                            .secret = 0xfeed'0000'0001,
                            .epoch = 5,
                            .arenas = {1u << 30, 4096},
                            .port = 65535,
                            .host = "worker-1.example"};
}

TEST_CASE("a decoded TLS address equals the encoded one") {
  tls_address out;
  REQUIRE(decode(encode(at_a_host), out).empty());
  CHECK(out.node == at_a_host.node);
  CHECK(out.incarnation == at_a_host.incarnation);
  CHECK(out.secret == at_a_host.secret);
  CHECK(out.epoch == at_a_host.epoch);
  CHECK(out.arenas == at_a_host.arenas);
  CHECK(out.port == at_a_host.port);
  CHECK(out.host == at_a_host.host);
}

TEST_CASE("a flipped bit, a truncation or an extra byte of a TLS address is detected") {
  troupe::testing::check_that_damage_is_detected<tls_address>(encode(at_a_host));
}

TEST_CASE("the address of one fabric is refused by the other") {
  ucx_address other;
  CHECK(decode(encode(at_a_host), other) ==
        "its address is not one of this version of troupe and this transport");
}
