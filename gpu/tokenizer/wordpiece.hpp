// WordPiece: the longest token that a word begins with, then the longest one of the rest, and so on.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/tokenizer/subword_model.hpp"

namespace troupe::llm {

class wordpiece final : public subword_model {
 public:
  struct options {
    std::unordered_map<std::string, token> vocabulary;
    token unknown = 0;                ///< for a word that has no such tokens
    std::string inner_prefix = "##";  ///< of tokens that do not begin a word
    size_t longest_word = 100;        ///< in characters; longer words are unknown
  };
  explicit wordpiece(options o);

  void append(std::string_view word, std::vector<token>& to) const override;

 private:
  const options options_;
  size_t longest_token_ = 0;  ///< in bytes
};

}  // namespace troupe::llm
