#include "gpu/tokenizer/sentencepiece_check.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;

namespace {

std::string refused_model(const std::string& model) {
  const auto what = refusal([&] { check_sentencepiece(model, "m"); });
  const std::string before = "m: is damaged or not a sentencepiece model: ";
  const std::string after = "; copy it again from its source";
  if (!what.starts_with(before) || !what.ends_with(after)) return what;
  return what.substr(before.size(), what.size() - before.size() - after.size());
}

std::string with_piece(const test_piece& p) {
  test_sentencepiece m;
  m.pieces = {{"<unk>", test_piece::unknown}, p};
  return refused_model(write_sentencepiece(m));
}

std::string little_endian(uint32_t n) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(n >> (8 * i));
  return bytes;
}

/// A table of normalizations: the array with `unit` at `at`, and one text.
std::string table(size_t units, size_t at, uint32_t unit) {
  std::string bytes = little_endian(static_cast<uint32_t>(units * 4));
  for (size_t i = 0; i < units; ++i) bytes += little_endian(i == at ? unit : 0);
  return bytes + std::string("x\0", 2);
}

std::string with_table(const std::string& bytes) {
  test_sentencepiece m;
  m.charsmap = bytes;
  return refused_model(write_sentencepiece(m));
}

}  // namespace

TEST_CASE("a valid model is read with its options") {
  test_sentencepiece m;
  m.add_dummy_prefix = false;
  m.remove_extra_whitespaces = true;
  const auto options = check_sentencepiece(write_sentencepiece(m), "m");
  CHECK_FALSE(options.add_dummy_prefix);
  CHECK(options.remove_extra_whitespaces);
}

TEST_CASE("a file that is not a model, or is truncated, is refused") {
  CHECK(refused_model("") == "it has no pieces");
  CHECK(refused_model("{\"version\": 1}") != "");
  const auto whole = write_sentencepiece({});
  CHECK(refused_model(whole.substr(0, 1000)) == "it ends inside of a field");
  CHECK(refused_model(whole + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") ==
        "it ends inside of a number");
  CHECK(refused_model(whole + "\x0b") == "unknown wire type 3");
  CHECK(refused_model(whole + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") == "it ends inside of a field");
}

TEST_CASE("pieces with invalid text or without a finite score are refused") {
  CHECK(with_piece({"ok"}) == "");
  CHECK(with_piece({""}) == "piece 1 is not a string of 1 to 4096 bytes");
  CHECK(with_piece({"\xff"}) == "piece 1 is not a string of 1 to 4096 bytes");
  CHECK(with_piece({std::string("a\0b", 3)}) == "piece 1 is not a string of 1 to 4096 bytes");
  CHECK(with_piece({std::string(5000, 'x')}) == "piece 1 is not a string of 1 to 4096 bytes");
  CHECK(with_piece({"x", test_piece::normal, NAN}) == "the score of piece 1 is not finite");
  CHECK(with_piece({"x", test_piece::normal, INFINITY}) == "the score of piece 1 is not finite");
}

TEST_CASE("normalization tables with offsets out of range are refused") {
  constexpr uint32_t has_value = 1U << 8, far = 1U << 9, is_value = 1U << 31;
  const auto offset = [](uint32_t n) { return n << 10; };
  CHECK(with_table(table(512, 0, offset(256))) == "");
  CHECK(with_table(table(512, 1, is_value | 1)) == "");
  CHECK(with_table("ab") == "the array of its normalizations has a wrong size");
  CHECK(with_table(little_endian(1 << 30) + "abcd") == "the array of its normalizations has a wrong size");
  CHECK(with_table(table(255, 0, 0)) == "the array of its normalizations is cut off");
  CHECK(with_table(table(512, 0, offset(1024))) == "a step of its normalizations points outside of them");
  CHECK(with_table(table(512, 0, offset(2) | far)) == "a step of its normalizations points outside of them");
  CHECK(with_table(table(512, 0, has_value | offset(256))) ==
        "a step of its normalizations points outside of them");
  CHECK(with_table(table(512, 1, is_value | 2)) == "a normalization points outside of their strings");
  auto open = table(512, 0, 0);
  open.back() = 'y';
  CHECK(with_table(open) == "the strings of its normalizations are not terminated");
}

TEST_CASE("models with an unsupported way to decode are refused") {
  test_sentencepiece suffix, rewriting;
  suffix.treat_whitespace_as_suffix = true;
  rewriting.denormalizer = "x";
  CHECK(refused_model(write_sentencepiece(suffix)).find("treat_whitespace_as_suffix") != std::string::npos);
  CHECK(refused_model(write_sentencepiece(rewriting)).find("denormalizer_spec") != std::string::npos);
}
