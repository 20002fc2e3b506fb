#include "gpu/tokenizer/encoder_tokenizer.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe;
using namespace troupe::llm;
using nlohmann::json;

namespace {

const std::filesystem::path encoders = std::filesystem::path(TROUPE_FIXTURES) / "encoders";

json golden_of(const char* folder) { return json::parse(std::ifstream(encoders / folder / "golden.json")); }

/// The message of the error for a tokenizer.json with this change.
std::string refused_tokenizer(const char* folder, const std::function<void(json&)>& change) {
  auto file = json::parse(std::ifstream(encoders / folder / "tokenizer.json"));
  change(file);
  const auto at = std::filesystem::temp_directory_path() / fmt::format("troupe_encoder_{}", ::getpid());
  std::filesystem::create_directories(at);
  std::ofstream(at / "tokenizer.json") << file;
  auto said = refusal([&] { read_encoder_tokenizer(at); });
  std::filesystem::remove_all(at);
  return said;
}

encoded_text pair_of(const encoder_tokenizer& words, std::string_view first, std::string_view second,
                     size_t max_tokens) {
  return words.encode(words.tokens(first), words.tokens(second), max_tokens);
}

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("encoder tokenizer: Unigram gives the tokens of the package tokenizers") {
  const auto words = read_encoder_tokenizer(encoders / "xlmr");
  for (const auto& g : golden_of("xlmr")) {
    CAPTURE(g["text"]);
    CHECK(words->encode(g["text"].get<std::string>(), 126).ids == g["ids"].get<std::vector<token>>());
  }
  CHECK(words->added(false) == 2);
  CHECK(words->added(true) == 4);
}

TEST_CASE("encoder tokenizer: pairs of WordPiece have types, and the longer text is cut") {
  const auto words = read_encoder_tokenizer(encoders / "cross-encoder");
  for (const auto& g : golden_of("cross-encoder")) {
    CAPTURE(g["query"]);
    const auto pair = pair_of(*words, g["query"].get<std::string>(), g["document"].get<std::string>(), 128);
    CHECK(pair.ids == g["ids"].get<std::vector<token>>());
    const auto first = std::ranges::find(pair.types, 1) - pair.types.begin();
    CHECK(pair.ids[static_cast<size_t>(first) - 1] == 3);  // [SEP]
    CHECK(std::ranges::count(pair.types, 1) == static_cast<std::ptrdiff_t>(pair.ids.size()) - first);
  }
  const auto whole = pair_of(*words, "word word", "word word word word", 128);
  CHECK(whole.cut == 0);
  const auto tokens = whole.ids.size();
  const auto cut = pair_of(*words, "word word", "word word word word", tokens - 3);
  CHECK(cut.cut == 3);
  CHECK(cut.ids.size() == tokens - 3);
  CHECK(std::ranges::count(cut.types, 0) == std::ranges::count(whole.types, 0));
  CHECK(words->encode("word word word", 4).ids.size() == 4);
}

TEST_CASE("encoder tokenizer: names of special tokens, invalid bytes and empty texts") {
  const auto words = read_encoder_tokenizer(encoders / "cross-encoder");
  CHECK(words->encode("", 9).ids == std::vector<token>{2, 3});
  CHECK(words->encode("[MASK]", 9).ids == std::vector<token>{2, 4, 3});
  CHECK(words->encode("a\xff", 9).ids == words->encode("a\xef\xbf\xbd", 9).ids);
  CHECK(words->encode(std::string(101, 'a'), 9).ids == std::vector<token>{2, 1, 3});  // longer than a word
}

TEST_CASE("encoder tokenizer: a hostile tokenizer has bounds") {
  const auto unigram = [](auto change) { return refused_tokenizer("xlmr", change); };
  CHECK(mentions(unigram([](json& f) { f["model"]["vocab"][5][0] = std::string(600, 'a'); }),
                 "more than 512 bytes"));
  CHECK(mentions(unigram([](json& f) { f["pre_tokenizer"]["replacement"] = "ab"; }), "is not one character"));
  CHECK(mentions(unigram([](json& f) { f["model"]["vocab"][6] = f["model"]["vocab"][5]; }),
                 "an earlier piece"));
  auto file = json::parse(std::ifstream(encoders / "xlmr" / "tokenizer.json"));
  const json twice{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array()}};
  for (int i = 0; i < 32; ++i) file["normalizer"]["normalizers"].push_back(twice);
  const auto words = make_encoder_tokenizer(file.dump(), "t.json");
  CHECK(words->tokens("bcd").size() > 0);
  CHECK_THROWS_AS(words->tokens("a"), request_refused);
}

TEST_CASE("encoder tokenizer: added tokens that are normalized match in the normalized text") {
  auto file = json::parse(std::ifstream(encoders / "cross-encoder" / "tokenizer.json"));
  file["added_tokens"].push_back(
      {{"id", 1200}, {"content", "COVID"}, {"special", false}, {"normalized", true}});
  const auto words = make_encoder_tokenizer(file.dump(), "t.json");
  CHECK(words->tokens("Covid") == std::vector<token>{1200});
}

TEST_CASE("encoder tokenizer: what is not supported is named") {
  const auto wordpiece = [](auto change) { return refused_tokenizer("cross-encoder", change); };
  CHECK(refused_tokenizer("xlmr", [](json&) {}).empty());
  CHECK(mentions(wordpiece([](json& f) { f["model"]["type"] = "WordLevel"; }), "model.type is 'WordLevel'"));
  CHECK(mentions(wordpiece([](json& f) { f["normalizer"]["type"] = "Reverse"; }),
                 "normalizer.type is 'Reverse'"));
  CHECK(mentions(wordpiece([](json& f) { f["pre_tokenizer"]["type"] = "Digits"; }),
                 "pre_tokenizer.type is 'Digits'"));
  CHECK(mentions(wordpiece([](json& f) { f["post_processor"]["type"] = "Other"; }),
                 "post_processor.type is 'Other'"));
  CHECK(
      mentions(wordpiece([](json& f) { f["model"]["unk_token"] = "[GONE]"; }), "model.vocab does not have"));
  CHECK(mentions(wordpiece([](json& f) { f["post_processor"]["single"] = json::array(); }),
                 "no place for a text"));
  CHECK(mentions(wordpiece([](json& f) { f["added_tokens"][1]["id"] = 0; }), "added_tokens[1]"));
  CHECK(mentions(refused_tokenizer("xlmr", [](json& f) { f["model"]["unk_id"] = 1'000'000; }),
                 "not the id of a piece"));
  CHECK(mentions(refused_tokenizer("xlmr", [](json& f) { f["model"]["vocab"][5] = "x"; }), "model.vocab[5]"));
  CHECK_THROWS_WITH_AS(
      [] {
        const auto single = read_encoder_tokenizer(encoders / "xlmr");
        CHECK(single->vocabulary() > 1000);
        read_encoder_tokenizer(encoders / "nowhere");
      }(),
      doctest::Contains("No such file"), model_error);
}
