// Tokenizer files for tests.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe::llm {

using token_ids = std::vector<token>;

/// `bytes` in the alphabet of byte-level BPE.
std::string in_byte_alphabet(std::string_view bytes);

/// A tokenizer.json with GPT-2's word pattern: tokens 0 to 255 are the bytes, those from 256 on the results
/// of `merges` (pairs of bytes), and the last one is the added token <|eot|>.
nlohmann::json byte_level_document(const std::vector<std::pair<std::string, std::string>>& merges = {});

/// A tokenizer.json of characters with byte_fallback, and with Mixtral's pipeline: <unk>, <s>, </s>, the 256
/// bytes from 3 on, from 259 on `characters` and then the results of `merges`.
nlohmann::json character_document(const std::vector<std::string>& characters,
                                  const std::vector<std::pair<std::string, std::string>>& merges = {});

/// Adds the token `content` with the next id and the flags of `flags`.
void add_token(nlohmann::json& document, const std::string& content,
               nlohmann::json flags = nlohmann::json::object());

/// Splits words with this pattern instead.
void use_pattern(nlohmann::json& document, const std::string& pattern);

std::shared_ptr<const tokenizer> make(const nlohmann::json& document);

/// A piece of a sentencepiece model.
struct test_piece {
  enum kind : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  std::string text;
  kind type = normal;
  float score = 0;
};

/// <unk>, <s>, </s>, the 256 bytes from 3 on, and from 259 on a few words, the first of which are
/// `first_words`.
std::vector<test_piece> llama_pieces(std::vector<test_piece> first_words = {});

struct test_sentencepiece {
  std::vector<test_piece> pieces = llama_pieces();
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = false;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = true;
  uint64_t model_type = 2;  // BPE
  std::string charsmap = "";
  std::string denormalizer = "";
};

/// A table of normalizations for `charsmap`, by the text that is replaced.
std::string charsmap_of(const std::map<std::string, std::string>& replacements);

/// The content of a tokenizer.model.
std::string write_sentencepiece(const test_sentencepiece& model);

/// The message of the refusal; empty if reading succeeds.
template <class Read>
std::string refusal(Read read) {
  try {
    read();
  } catch (const model_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace troupe::llm
