// The Unigram model of SentencePiece, as the package tokenizers computes it: of all ways to split a word into
// pieces, the one with the greatest sum of scores, in double precision. (libsentencepiece adds in single
// precision, and so decides ties in another way.)
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gpu/tokenizer/subword_model.hpp"

namespace troupe::llm {

struct unigram_piece {
  std::string text;  ///< not empty
  double score = 0;
};

/// `pieces`: by token, at least one; their texts differ. `unknown`: the token of characters without a piece;
/// adjacent ones become one token. `bytes`: they become the pieces "<0x00>" to "<0xFF>" instead, if there are
/// such.
std::unique_ptr<const subword_model> make_unigram(std::vector<unigram_piece> pieces, token unknown,
                                                  bool bytes);

}  // namespace troupe::llm
