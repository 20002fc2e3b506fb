// Text as it is generated: what is sure to stay comes out as soon as it is. Never half a character, never a
// lost space: the pieces together are `decode` of all tokens. A token costs the same, however long the text
// is.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe::llm {

class detokenizer {
 public:
  /// The text continues that of `prompt`, which itself is not given; whether it has text already decides
  /// about a leading space. A character that begins in the prompt is not completed.
  detokenizer(std::shared_ptr<const tokenizer> t, const std::vector<token>& prompt, bool skip_special = true);

  /// The text that `t` adds; empty while a character is incomplete.
  std::string add(token t);
  /// What is still held back, at the end: an incomplete character is U+FFFD then.
  std::string finish();

 private:
  /// What a token adds, before characters are put together.
  std::string bytes_of(token t);

  std::shared_ptr<const tokenizer> tokenizer_;
  bool skip_special_;
  bool at_start_ = true;     // nothing of the text is visible yet: a space may be left out
  std::vector<token> head_;  // then: the last token that had one, if any
  std::string held_;         // the beginning of a character, at most 3 bytes
};

}  // namespace troupe::llm
