#include "gpu/tokenizer/bpe_symbols.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;

namespace {

std::unique_ptr<const bpe_symbols> symbols_of(const nlohmann::json& document) {
  return make_bpe_symbols(read_tokenizer_json(document.dump(), "t.json"));
}

token_ids symbols_in(const bpe_symbols& symbols, std::string_view word) {
  token_ids all;
  symbols.append(word, all);
  return all;
}

}  // namespace

TEST_CASE("bpe_symbols: a byte-level BPE has the bytes that have a token") {
  auto d = byte_level_document();
  CHECK(symbols_in(*symbols_of(d), "aé") == token_ids{'a', 0xc3, 0xa9});
  d["model"]["vocab"].erase("a");
  CHECK(symbols_in(*symbols_of(d), "ab") == token_ids{'b'});
  CHECK(symbols_of(d)->first_part("a▁b") == 5);
}

TEST_CASE("bpe_symbols: with byte_fallback, characters without a token have those of their bytes") {
  const auto s = symbols_of(character_document({"▁", "a", "é"}));
  CHECK(symbols_in(*s, "▁aé") == token_ids{259, 260, 261});
  CHECK(symbols_in(*s, "b😀") == token_ids{3 + 'b', 3 + 0xf0, 3 + 0x9f, 3 + 0x98, 3 + 0x80});
}

TEST_CASE("bpe_symbols: with byte_fallback, a word ends where no merge joins it with the rest") {
  CHECK(symbols_of(character_document({"▁", "a"}, {{"▁", "a"}}))->first_part("a▁a") == 1);
  CHECK(symbols_of(character_document({"▁", "a"}, {{"a", "▁"}}))->first_part("a▁a") == 5);
}
