#include "gpu/checkpoint/safetensors.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;

namespace {

std::string error_in(std::string_view file) {
  return error_of([&] { safetensors(bytes_of(file), "f"); });
}

/// Of a header with these entries and 16 bytes after it.
std::string error_with(std::string_view entries) {
  return error_in(with_header(fmt::format("{{{}}}", entries), std::string(16, 'x')));
}

}  // namespace

TEST_CASE("tensors are found by name, with type, shape and bytes") {
  const auto file =
      file_of({{"b", "F32", {2}, "12345678"}, {"a", "BF16", {1, 3}, "abcdef"}, {"c", "I8", {0, 5}, ""}});
  const safetensors s(bytes_of(file), "f");
  CHECK(s.name() == "f");
  REQUIRE(s.tensors().size() == 3);
  CHECK(s.tensors().begin()->first == "a");
  const auto* a = s.find("a");
  REQUIRE(a != nullptr);
  CHECK(a->type == "BF16");
  CHECK(a->shape == std::vector<uint64_t>{1, 3});
  CHECK(std::string(reinterpret_cast<const char*>(a->bytes.data()), a->bytes.size()) == "abcdef");
  CHECK(s.find("b")->bytes.size() == 8);
  CHECK(s.find("c")->bytes.empty());
  CHECK(s.find("d") == nullptr);
}

TEST_CASE("a scalar, padding after the header, a type of half bytes and an unknown type are read") {
  CHECK(error_in(with_header(R"({"s": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}    )",
                             "1234")) == "no error");
  CHECK(error_with(R"("a": {"dtype": "F4", "shape": [4, 8], "data_offsets": [0, 16]})") == "no error");
  CHECK(error_with(R"("a": {"dtype": "Q7", "shape": [3], "data_offsets": [0, 16]})") == "no error");
  CHECK(error_in(with_header("{}", "")) == "no error");
}

TEST_CASE("a mapped file can be moved and keeps its tensors") {
  const temporary_folder folder;
  folder.write("f", file_of({counting("t", {3})}));
  safetensors first(folder.path / "f");
  const auto moved = std::move(first);
  CHECK(moved.find("t")->bytes.size() == 12);
  CHECK(moved.name() == (folder.path / "f").string());
}

TEST_CASE("a truncated file, or one of another format, is refused") {
  CHECK(error_in("") == "f: has 0 bytes and is not a safetensors file (damaged or truncated)");
  CHECK(error_in("1234567") == "f: has 7 bytes and is not a safetensors file (damaged or truncated)");
  CHECK(error_in(std::string(8, '\xff') + "{}") ==
        "f: a header of 18446744073709551615 bytes is more than a safetensors file may have (100000000)");
  CHECK(error_in(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)) ==
        "f: a header of 100000001 bytes is more than a safetensors file may have (100000000)");
  CHECK(error_in(std::string("\x03\0\0\0\0\0\0\0{}", 10)) ==
        "f: the header needs 3 bytes, the file has 2 more (truncated: fetch it again)");
  CHECK(error_in(with_header("", "")) == "f: the header does not begin with '{': not a safetensors file");
  CHECK(error_in(with_header(" {}", "")) == "f: the header does not begin with '{': not a safetensors file");
}

TEST_CASE("a header that is not JSON is refused with the place, at any depth") {
  CHECK(error_in(with_header("{\"a\": ", "")) == "f: the header is not JSON from its byte 7 on");
  CHECK(error_in(with_header("{} x", "")) == "f: the header is not JSON from its byte 4 on");
  CHECK(error_in(with_header("{\"\xff\": 1}", "")) == "f: the header is not JSON from its byte 3 on");
  CHECK(error_in(with_header("{\"a\":" + std::string(1'000'000, '['), "")) ==
        "f: tensor 'a' is a list in the header, not an object");
}

TEST_CASE("a malformed header is refused with the tensor and the problem") {
  CHECK(error_with(R"("a": 5)") == "f: tensor 'a' is a number in the header, not an object");
  CHECK(error_with(R"("a": {"dtype": 5})") == "f: tensor 'a' has a number in its dtype");
  CHECK(error_with(R"("a": {"dtype": ["F32"]})") == "f: tensor 'a' has a list in its dtype");
  CHECK(error_with(R"("a": {"shape": 5})") == "f: tensor 'a' has a number in its shape");
  CHECK(error_with(R"("a": {"shape": {"x": 1}})") == "f: tensor 'a' has an object in its shape");
  CHECK(error_with(R"("a": {"shape": [[1]]})") == "f: tensor 'a' has a list in its shape");
  CHECK(error_with(R"("a": {"shape": [-1]})") == "f: tensor 'a' has a negative number in its shape");
  CHECK(error_with(R"("a": {"shape": [1.5]})") == "f: tensor 'a' has a fraction in its shape");
  CHECK(error_with(R"("a": {"shape": [null]})") == "f: tensor 'a' has null in its shape");
  CHECK(error_with(R"("a": {"shape": [99999999999999999999]})") ==
        "f: tensor 'a' has a fraction in its shape");
  CHECK(error_with(R"("a": {"shape": [1,1,1,1,1,1,1,1,1]})") == "f: tensor 'a' has more than 8 dimensions");
  CHECK(error_with(R"("a": {"data_offsets": [0]})") == "f: tensor 'a' has 1 data_offsets where it needs 2");
  CHECK(error_with(R"("a": {"data_offsets": [0, 1, 2]})") == "f: tensor 'a' has more than 2 data_offsets");
  CHECK(error_with(R"("a": {"color": 1})") == "f: tensor 'a' has the unknown key 'color'");
  CHECK(error_with(R"("a": {"dtype": "F32", "dtype": "F32"})") == "f: tensor 'a' has its dtype twice");
  CHECK(error_with(R"("a": {"dtype": "F32", "shape": [4]})") ==
        "f: tensor 'a' lacks its dtype, its shape or its data_offsets");
  CHECK(error_with(R"("__metadata__": {"n": 5})") ==
        "f: '__metadata__' holds a number: it may hold only strings");
  CHECK(error_with(R"("__metadata__": {}, "__metadata__": {})") ==
        "f: '__metadata__' is in the header twice");
}

TEST_CASE("a tensor that is in the header twice is refused") {
  CHECK(error_with(R"("a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},
                      "a": {"dtype": "U8", "shape": [8], "data_offsets": [8, 16]})") ==
        "f: tensor 'a' is in the header twice");
}

TEST_CASE("tensors must cover the bytes after the header exactly once") {
  const auto two = [](size_t a_begin, size_t a_end, size_t b_begin, size_t b_end) {
    return error_with(fmt::format(R"("a": {{"dtype": "U8", "shape": [{}], "data_offsets": [{}, {}]}},
                                     "b": {{"dtype": "U8", "shape": [{}], "data_offsets": [{}, {}]}})",
                                  a_end - a_begin, a_begin, a_end, b_end - b_begin, b_begin, b_end));
  };
  CHECK(two(0, 8, 8, 16) == "no error");
  CHECK(two(8, 16, 0, 8) == "no error");
  CHECK(two(0, 9, 8, 16) == "f: tensor 'b' begins at 8, within the one before it");
  CHECK(two(0, 16, 4, 8) == "f: tensor 'b' begins at 4, within the one before it");
  CHECK(two(0, 7, 8, 16) == "f: bytes 7 to 8 before tensor 'b' belong to no tensor");
  CHECK(two(1, 8, 8, 16) == "f: bytes 0 to 1 before tensor 'a' belong to no tensor");
  CHECK(two(0, 8, 8, 15) == "f: the last 1 bytes belong to no tensor");
  CHECK(two(0, 8, 8, 17) == "f: tensor 'b' ends at byte 17 of 16 (truncated: fetch the file again)");
  CHECK(two(0, 8, 16, 8) == "f: tensor 'b' ends at 8, before its begin at 16");
  CHECK(error_with(R"("a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 18446744073709551615]})") ==
        "f: tensor 'a' ends at byte 18446744073709551615 of 16 (truncated: fetch the file again)");
}

TEST_CASE("a shape must give the bytes that the tensor has, also where the product does not fit 64 bits") {
  const auto shaped = [](std::string_view type, std::string_view shape) {
    return error_with(
        fmt::format(R"("a": {{"dtype": "{}", "shape": {}, "data_offsets": [0, 16]}})", type, shape));
  };
  CHECK(shaped("F32", "[2, 2]") == "no error");
  CHECK(shaped("F32", "[2, 3]") == "f: tensor 'a' holds 16 bytes where its shape needs 24");
  CHECK(shaped("BF16", "[4]") == "f: tensor 'a' holds 16 bytes where its shape needs 8");
  CHECK(shaped("F32", "[0]") == "f: tensor 'a' holds 16 bytes where its shape needs 0");
  CHECK(shaped("F32", "[4294967296, 4294967297]") == "f: tensor 'a' has an impossible shape");
  CHECK(shaped("F32", "[4611686018427387905]") == "f: tensor 'a' has an impossible shape");
  CHECK(shaped("F4", "[33]") == "f: tensor 'a' has an impossible shape");
}

TEST_CASE("a name in a message has no control characters and a bounded length") {
  CHECK(error_with(R"("a\u0007\nb": 5)") == "f: tensor 'a??b' is a number in the header, not an object");
  CHECK(error_with("\"" + std::string(10000, 'x') + "\": 5").size() < 200);
}
