// The content of a tokenizer.json of a BPE, of bytes or of characters, parsed and checked.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/added_tokens.hpp"
#include "gpu/tokenizer/surrounding_tokens.hpp"
#include "gpu/tokenizer/text_rewriter.hpp"
#include "gpu/tokenizer/word_steps.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

struct bpe_merge {
  token left = 0;
  token right = 0;
  token result = 0;
};

struct tokenizer_json {
  struct entry {
    std::string bytes;       // decoded bytes of the token
    std::string characters;  // with byte_fallback: as model.vocab spells it
    bool defined = false;    // false: a gap in the ids
    bool plain =
        false;  // encoding can produce it: with byte_fallback in model.vocab, else in the byte alphabet
  };
  std::vector<entry> vocabulary;  // by id; gaps for added tokens that are not in the model
  std::vector<bpe_merge> merges;  // by rank, best first
  bool byte_fallback =
      false;  // merges begin with characters, or the bytes of those without a token; false: with bytes
  bool ignore_merges = false;    // a word that is a token becomes it, without merges
  text_rewriter normalizer;      // may be empty
  std::vector<word_step> steps;  // split a text, one after the other
  added_tokens added;
  surrounding_tokens around;  // if special tokens are requested
  bool strips_space = false;  // decoding omits a space at the beginning of a text
};

/// `text`: content of a tokenizer.json. `file`: its name for messages. The result needs no further checks of
/// ids, merges and patterns. Throws model_error for a damaged file and for unsupported kinds of tokenizers,
/// which it names.
tokenizer_json read_tokenizer_json(std::string_view text, const std::string& file);

/// Whether it has byte_fallback, as one that was made from a tokenizer.model of SentencePiece.
bool is_from_sentencepiece(std::string_view text);

}  // namespace troupe::llm
