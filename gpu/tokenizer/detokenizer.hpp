// Incremental detokenizer: returns text as soon as it is final. Pieces end at character boundaries, and
// together equal `decode` of all tokens. The cost of a token is independent of the text's length.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe::llm {

class detokenizer {
 public:
  /// The output continues the text of `prompt` without including it. A leading space depends on whether the
  /// prompt has text. A character that begins in the prompt is not completed.
  detokenizer(std::shared_ptr<const tokenizer> t, const std::vector<token>& prompt, bool skip_special = true);

  /// The text that `t` adds; empty while a character is incomplete.
  std::string add(token t);
  /// The text still held back at the end: U+FFFD for an incomplete character.
  std::string finish();

 private:
  /// The bytes that a token adds, before characters are completed.
  std::string bytes_of(token t);

  std::shared_ptr<const tokenizer> tokenizer_;
  bool skip_special_;
  bool at_start_ = true;     // no text is visible yet: a space may be stripped
  std::vector<token> head_;  // while at_start_: the last token with text, if any
  std::string held_;         // an incomplete character, at most 3 bytes
};

}  // namespace troupe::llm
