// Text as it is generated: what is sure to stay comes out as soon as it is. Never half a character, never a
// lost space: the pieces together are `decode` of all tokens.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe::llm {

class detokenizer {
 public:
  /// The text continues that of `prompt` (its last tokens decide about a leading space); the prompt itself is
  /// not given.
  detokenizer(std::shared_ptr<const tokenizer> t, const std::vector<token>& prompt, bool skip_special = true);

  /// The text that `t` adds; empty while a character is incomplete.
  std::string add(token t);
  /// What is still held back, at the end: an incomplete character is U+FFFD then.
  std::string finish();

 private:
  std::shared_ptr<const tokenizer> tokenizer_;
  bool skip_special_;
  std::vector<token> tokens_;  // from where decoding may begin
  size_t given_tokens_ = 0;    // of tokens_, those whose text is out
};

}  // namespace troupe::llm
