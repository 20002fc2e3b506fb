#include "gpu/tokenizer/byte_token.hpp"

#include <doctest/doctest.h>

using namespace troupe::llm;

TEST_CASE("byte_token: every byte has a name, and a name its byte") {
  CHECK(byte_token(0x0a) == "<0x0A>");
  for (int byte = 0; byte < 256; ++byte) {
    const auto b = static_cast<uint8_t>(byte);
    CHECK(byte_of_token(byte_token(b)) == b);
  }
}

TEST_CASE("byte_token: other tokens are no bytes") {
  for (const auto* text : {"", "a", "<0x0a>", "<0x+A>", "<0xA>", "<0x0A", "<0x0A>>", "<0xGG>", "▁▁"})
    CHECK_FALSE(byte_of_token(text));
}
