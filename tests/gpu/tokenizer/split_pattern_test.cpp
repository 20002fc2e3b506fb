#include "gpu/tokenizer/split_pattern.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "gpu/common/request_refused.hpp"
#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

std::vector<std::string> pieces(const split_pattern& pattern, std::string_view text) {
  std::vector<std::string> all;
  pattern.split(text, [&](std::string_view piece) { all.emplace_back(piece); });
  return all;
}

using piece_list = std::vector<std::string>;

}  // namespace

TEST_CASE("a text is split into matches and the parts between them") {
  const split_pattern numbers("[0-9]+");
  CHECK(pieces(numbers, "").empty());
  CHECK(pieces(numbers, "ab") == piece_list{"ab"});
  CHECK(pieces(numbers, "12") == piece_list{"12"});
  CHECK(pieces(numbers, "a12b3é") == piece_list{"a", "12", "b", "3", "é"});
}

TEST_CASE("the matches of a text are its parts without those between them") {
  std::vector<std::string> all;
  split_pattern("[0-9]*").matches("12a3é", [&](std::string_view piece) { all.emplace_back(piece); });
  CHECK(all == piece_list{"12", "3"});
}

TEST_CASE("GPT-2's pattern splits off words with their leading space") {
  CHECK(pieces(split_pattern(gpt2_pattern), "I'm  here, 123é!\n\n x ") ==
        piece_list{"I", "'m", " ", " here", ",", " 123", "é", "!", "\n\n", " x", " "});
}

TEST_CASE("an empty match splits the text, and is not a piece") {
  CHECK(pieces(split_pattern("x*"), "éxxé") == piece_list{"é", "xx", "é"});
  CHECK(pieces(split_pattern("(?=b)"), "abab") == piece_list{"a", "ba", "b"});
  CHECK(pieces(split_pattern(""), "aé") == piece_list{"a", "é"});
}

TEST_CASE("long texts are split or refused without a stack overflow") {
  const std::string spaces(1 << 20, ' '), letters(1 << 20, 'a');
  CHECK(pieces(split_pattern(gpt2_pattern), spaces + letters).size() == 2);
  const split_pattern groups("(?:ab|ba|aa)+");
  CHECK(pieces(groups, letters.substr(0, 1 << 16)).size() == 1);
  CHECK_THROWS_AS(pieces(groups, letters), request_refused);  // each of its steps needs memory
}

TEST_CASE("a text with unbounded backtracking is refused by the pattern") {
  const split_pattern hostile("(?:a|aa|a+)+[bc]");
  CHECK_THROWS_AS(pieces(hostile, std::string(200, 'a')), request_refused);
  CHECK(pieces(hostile, "aab!") == piece_list{"aab", "!"});
}

TEST_CASE("patterns that are too long or too deeply nested are refused") {
  CHECK(refusal([] { split_pattern(std::string(1 << 20, 'a')); }).find("1048576 bytes") != std::string::npos);
  CHECK(refusal([] { split_pattern(std::string(1000, '(') + std::string(1000, ')')); }) != "");
}

TEST_CASE("threads may share a pattern") {
  const split_pattern pattern(gpt2_pattern);
  std::vector<std::thread> threads;
  std::vector<size_t> counts(4);
  for (size_t i = 0; i < counts.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 200; ++k) counts[i] += pieces(pattern, "the quick brown fox, 123!").size();
    });
  }
  for (auto& t : threads) t.join();
  for (const auto c : counts) CHECK(c == 200 * 7);
}
