// The tokens that a model's makers added by name to a trained vocabulary: "<|eot_id|>", "<tool_call>".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

struct added_token {
  token id = 0;
  std::string content;       // UTF-8, not empty
  bool special = false;      // steers the model; not of the text
  bool single_word = false;  // not as a part of a word
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and after it
  bool normalized = false;   // is looked for in the normalized text
};

/// Immutable, thread-safe.
class added_tokens {
 public:
  added_tokens() = default;
  /// Ids and contents are distinct. `normalize`: what is done to texts before `normalized` tokens are looked
  /// for.
  added_tokens(std::vector<added_token> tokens, std::string (*normalize)(std::string_view));

  /// A token, or text between tokens.
  struct part {
    std::string_view text;
    std::optional<token> id;
  };

  /// The leftmost, then longest tokens, and the text around them; no part is empty. Looks for those that are
  /// `normalized` or for the others. Without `parse_special` a special one is text.
  std::vector<part> split(std::string_view text, bool normalized, bool parse_special) const;

  const added_token* find(token id) const;
  const added_token* find(std::string_view content) const;
  const std::vector<added_token>& all() const { return tokens_; }

 private:
  struct pattern {
    std::string content;
    size_t token;  // index into tokens_
  };
  /// The longest pattern that `text` begins with.
  static const pattern* longest(const std::vector<pattern>& patterns, std::string_view text);

  std::vector<added_token> tokens_;
  std::unordered_map<token, size_t> by_id_;
  std::unordered_map<std::string, size_t> by_content_;
  std::vector<pattern> raw_, normalized_;  // sorted by content
};

/// Longer ones are refused: every place of a text is compared with all of a token.
constexpr size_t longest_added_token = 256;

}  // namespace troupe::llm
