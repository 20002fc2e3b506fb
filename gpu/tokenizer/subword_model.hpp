// The interface of the models that split the words of a text into tokens, for encoders.
#pragma once
#include <string_view>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Immutable, thread-safe.
class subword_model {
 public:
  virtual ~subword_model() = default;
  /// Appends the tokens of a word (UTF-8, not empty).
  virtual void append(std::string_view word, std::vector<token>& to) const = 0;
};

}  // namespace troupe::llm
