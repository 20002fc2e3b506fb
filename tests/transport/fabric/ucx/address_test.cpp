#include "transport/fabric/ucx/address.hpp"

#include <doctest/doctest.h>

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
  const std::string good = encode(sample);
  ucx_address out;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    INFO("bit ", bit);
    CHECK(!decode(bad, out).empty());
  }
  for (size_t n = 0; n < good.size(); ++n) CHECK(!decode(good.substr(0, n), out).empty());
  CHECK(!decode(good + "x", out).empty());
}
