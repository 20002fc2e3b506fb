// The pre-tokenizer of a BPE's tokenizer.json: steps that split a text into words, one after the other.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/json_place.hpp"

namespace troupe::llm {

/// A text between added tokens, or a part of it.
struct text_part {
  std::string_view text;  ///< UTF-8
  bool at_start = false;  ///< of the whole text
};

/// Calls `use` with the parts of a part, in order; never with an empty one. Thread-safe. Throws
/// request_refused for a text that cannot be split with bounded work.
using word_step =
    std::function<void(const text_part& part, const std::function<void(const text_part&)>& use)>;

/// The steps of a byte-level BPE: Splits by a pattern, then ByteLevel. Throws model_error for others.
std::vector<word_step> read_byte_level_steps(const json_place& pre_tokenizer);

/// The steps of a BPE of characters: Metaspace and Split. Throws model_error for others.
std::vector<word_step> read_character_steps(const json_place& pre_tokenizer);

}  // namespace troupe::llm
