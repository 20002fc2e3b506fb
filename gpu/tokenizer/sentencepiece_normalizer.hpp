// Normalization of texts by a sentencepiece model: rewriting by its table, and its rules for spaces.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "gpu/tokenizer/prefix_search.hpp"
#include "gpu/tokenizer/sentencepiece_check.hpp"

namespace troupe::llm {

/// As libsentencepiece's. Immutable, thread-safe.
class sentencepiece_normalizer {
 public:
  /// `model`: checked, with `escape_whitespaces`.
  explicit sentencepiece_normalizer(const sentencepiece_options& model);

  /// `text`: UTF-8. `dummy_prefix`: adds a space before a text that is not empty.
  std::string normalize(std::string_view text, bool dummy_prefix) const;

 private:
  /// A text in place of the first bytes of another.
  struct rewritten {
    std::string_view by;
    size_t bytes;
  };
  rewritten first(std::string_view text) const;
  std::optional<rewritten> by_table(std::string_view text) const;
  uint32_t unit(size_t at) const;

  bool remove_extra_whitespaces_;
  std::string table_;           // a double array of darts-clone, and the texts that its values point to
  size_t array_bytes_ = 0;      // of the array, behind its own size
  prefix_search user_defined_;  // not rewritten
};

}  // namespace troupe::llm
