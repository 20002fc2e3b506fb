// The added tokens of a vocabulary, which are matched by name: "<|eot_id|>", "<tool_call>".
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/tokenizer/prefix_search.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

struct added_token {
  token id = 0;
  std::string content;       // UTF-8, not empty
  bool special = false;      // a control token; not part of the text
  bool single_word = false;  // does not match inside a word
  bool lstrip = false;       // strips the white space before it
  bool rstrip = false;       // strips the white space after it
  bool normalized = false;   // is matched in the normalized text
};

/// Immutable, thread-safe.
class added_tokens {
 public:
  added_tokens() = default;
  /// Requires: ids and contents are distinct. `normalize`: applied to texts before `normalized` tokens are
  /// matched.
  added_tokens(std::vector<added_token> tokens,
               const std::function<std::string(std::string_view)>& normalize);

  /// A token, or text between tokens.
  struct part {
    std::string_view text;
    std::optional<token> id;
  };

  /// Splits a text into the leftmost longest tokens and the text around them. No part is empty. Matches
  /// either tokens that are `normalized` or the others. Without `parse_special`, special tokens are text.
  std::vector<part> split(std::string_view text, bool normalized, bool parse_special) const;

  const added_token* find(token id) const;
  const added_token* find(std::string_view content) const;
  const std::vector<added_token>& all() const { return tokens_; }

 private:
  struct pattern_set {
    prefix_search names;
    std::vector<size_t> tokens;  // by name: index into tokens_
  };

  std::vector<added_token> tokens_;
  std::unordered_map<token, size_t> by_id_;
  std::unordered_map<std::string, size_t> by_content_;
  pattern_set raw_, normalized_;
};

/// Longer tokens are refused, as every place of a text is compared with a whole token.
constexpr size_t longest_added_token = 256;

}  // namespace troupe::llm
