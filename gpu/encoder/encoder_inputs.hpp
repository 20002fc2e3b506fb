// The inputs of an encoder's graph (encoder_graph.hpp) for encoded texts.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/tokenizer/encoder_tokenizer.hpp"

namespace troupe {

/// `input_ids`, `attention_mask` and, if `types`, `token_type_ids`, one after the other, each [texts,
/// tokens]. Shorter texts end in `padding`, which the mask leaves out. Requires: no text has more than
/// `tokens`.
std::vector<int64_t> encoder_inputs(std::span<const llm::encoded_text> texts, uint32_t tokens,
                                    uint32_t padding, bool types);

}  // namespace troupe
