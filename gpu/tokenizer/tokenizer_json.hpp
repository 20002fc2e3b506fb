// The content of a tokenizer.json of a byte-level BPE, parsed and checked.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/added_tokens.hpp"
#include "gpu/tokenizer/split_pattern.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

struct bpe_merge {
  token left = 0;
  token right = 0;
  token result = 0;
};

struct tokenizer_json {
  struct entry {
    std::string bytes;     // decoded bytes of the token
    bool defined = false;  // false: a gap in the ids
    bool plain = false;    // in the byte alphabet: encoding can produce it
  };
  std::vector<entry> vocabulary;        // by id; gaps for added tokens that are not in the model
  std::vector<bpe_merge> merges;        // by rank, best first
  bool ignore_merges = false;           // a word that is a token becomes it, without merges
  bool nfc = false;                     // normalizes texts to NFC
  std::vector<split_pattern> patterns;  // split a text, one after the other
  added_tokens added;
  std::vector<token> prefix, suffix;  // added around a text, if special tokens are requested
};

/// `text`: content of a tokenizer.json. `file`: its name for messages. The result needs no further checks of
/// ids, merges and patterns. Throws model_error for a damaged file and for unsupported kinds of tokenizers,
/// which it names.
tokenizer_json read_tokenizer_json(std::string_view text, const std::string& file);

/// A BPE on characters with a fallback to bytes, as it is made from a tokenizer.model of SentencePiece.
bool is_from_sentencepiece(std::string_view text);

}  // namespace troupe::llm
