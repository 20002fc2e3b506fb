// Metaspace of tokenizer.json: spaces become a symbol, which begins the words of a text.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "gpu/tokenizer/json_place.hpp"

namespace troupe::llm {

struct metaspace {
  std::string symbol;  ///< one character
  /// Which texts that do not begin with the symbol get one: none, the one at the beginning of all, or all.
  enum class prefixes : uint8_t { never, first, always };
  prefixes prefix = prefixes::always;
  bool split = true;  ///< false: a text is one word

  /// `text` (UTF-8) with symbols. `at_start`: it is at the beginning of all.
  std::string rewritten(std::string_view text, bool at_start) const;
  /// Calls `use` with the words of a text that is rewritten, in order; never with an empty one.
  void each_word(std::string_view rewritten, const std::function<void(std::string_view)>& use) const;
};

/// Throws model_error for other settings.
metaspace read_metaspace(const json_place& place);

}  // namespace troupe::llm
