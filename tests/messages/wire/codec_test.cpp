#include "messages/wire/codec.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/messages/wire/random_message.hpp"

using namespace troupe;

TEST_CASE("every message survives encoding and decoding") {
  std::mt19937_64 rng(1);
  for_each_type(wire_message_list{}, [&]<class T>() {
    for (int i = 0; i < 50; ++i) {
      T x{};
      randomise(x, rng);
      std::vector<std::byte> out;
      encode(x, out);
      CHECK_MESSAGE(decode<T>(out) == x, T::type_name);
    }
  });
}

TEST_CASE("a message larger than the scratch memory still becomes one segment") {
  std::mt19937_64 rng(2);
  submit x;
  x.requests.resize(5000);
  for (auto& r : x.requests) randomise(r, rng);
  std::vector<std::byte> out;
  encode(x, out);
  CHECK(out.size() > 16384);
  CHECK(decode<submit>(out) == x);
}

TEST_CASE("the scratch memory carries nothing from one message into the next") {
  std::mt19937_64 rng(3);
  submit big;
  big.requests.resize(20);
  for (auto& r : big.requests) randomise(r, rng);
  std::vector<std::byte> first, second, third;
  encode(grant{}, first);
  encode(big, second);
  encode(grant{}, third);
  CHECK(first == third);
}

TEST_CASE("damaged bytes are refused or read as some message, and never crash") {
  std::mt19937_64 rng(4);
  size_t refused = 0;
  for_each_type(wire_message_list{}, [&]<class T>() {
    for (int i = 0; i < 300; ++i) {
      T x{};
      randomise(x, rng);
      std::vector<std::byte> out;
      encode(x, out);
      for (int flips = 0; flips < 3; ++flips)
        out[rng() % out.size()] ^= static_cast<std::byte>(1u << rng() % 8);
      if (rng() % 4 == 0) out.resize(rng() % (out.size() / 8 + 1) * 8);
      try {
        (void)decode<T>(out);
      } catch (const codec_error&) {
        ++refused;
      }
    }
  });
  CHECK(refused > 0);
}

TEST_CASE("texts with zeros in them, and numbers that are none, come through") {
  hello x;
  x.cluster_hash = std::string("a\0b\0", 4);
  std::vector<std::byte> out;
  encode(x, out);
  CHECK(decode<hello>(out).cluster_hash == x.cluster_hash);

  generated_token token;
  token.logprob = std::numeric_limits<float>::quiet_NaN();
  out.clear();
  encode(token, out);
  CHECK(std::isnan(decode<generated_token>(out).logprob));
}

TEST_CASE("bytes that are not whole aligned words are refused") {
  std::vector<std::byte> out;
  encode(ping{7, true}, out);
  CHECK_THROWS_AS(decode<ping>(std::span(out).subspan(0, 0)), codec_error);
  CHECK_THROWS_AS(decode<ping>(std::span(out).subspan(0, 12)), codec_error);
  CHECK_THROWS_AS(decode<ping>(std::span(out).subspan(4, 8)), codec_error);
}
