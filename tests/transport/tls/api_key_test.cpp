#include "transport/tls/api_key.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("a key is stored as its SHA-256") {
  // FIPS 180-2, appendix B.1
  const auto expected = parse_digest("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  REQUIRE(expected);
  CHECK(same_key(digest_of("abc"), *expected));
  CHECK_FALSE(same_key(digest_of("abd"), *expected));
}

TEST_CASE("a digest is 64 hex digits and nothing else") {
  const std::string good(64, 'a');
  CHECK(parse_digest(good));
  CHECK(parse_digest("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"));
  for (const auto& bad : {std::string(), good.substr(1), good + "a", "g" + good.substr(1),
                          "-" + good.substr(1), " " + good.substr(1), "0x" + good.substr(2)})
    CHECK_FALSE(parse_digest(bad));
}
