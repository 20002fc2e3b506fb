// What a tokenizer.json of a byte-level BPE says, read and checked.
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
    std::string bytes;     // what the token stands for
    bool defined = false;  // ids may have gaps
    bool plain = false;    // written in the byte alphabet: texts can become it
  };
  std::vector<entry> vocabulary;        // by id; added tokens that the model does not know by itself are gaps
  std::vector<bpe_merge> merges;        // by rank, the first one first
  bool ignore_merges = false;           // a word that is a token is that token, whatever the merges say
  bool nfc = false;                     // texts are normalized
  std::vector<split_pattern> patterns;  // cut a text one after the other
  added_tokens added;
  std::vector<token> prefix, suffix;  // around a text, if special tokens are wanted
};

/// `text` is that of a tokenizer.json, `file` its name for messages. Ids, merges and patterns are checked:
/// what comes back can be worked with blindly. Throws model_error for a broken file and for a kind of
/// tokenizer that is not supported, naming it.
tokenizer_json read_tokenizer_json(std::string_view text, const std::string& file);

}  // namespace troupe::llm
