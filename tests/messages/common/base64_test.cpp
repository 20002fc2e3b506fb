#include "messages/common/base64.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

std::string encoded(std::string_view text) { return to_base64(std::as_bytes(std::span{text})); }

}  // namespace

TEST_CASE("base64: the examples of RFC 4648, both ways") {
  for (const auto& [plain, text] : {std::pair<std::string_view, std::string_view>{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {
    CHECK(encoded(plain) == text);
    CHECK(from_base64(text) == plain);
  }
  CHECK(encoded("\xff\xfe\xfd") == "//79");
}

TEST_CASE("base64: what is none is refused") {
  for (const auto* text : {"Zg", "Zg=", "Z===", "Zm 9", "Zm9v=Zm9", "Zg==Zg==", "Zm_v"})
    CHECK_FALSE(from_base64(text));
}
