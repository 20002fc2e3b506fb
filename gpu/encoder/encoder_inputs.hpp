// The inputs of an encoder for encoded texts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/tokenizer/encoder_tokenizer.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe {

/// Whether these are inputs for texts of so many tokens: INT64 or INT32, each [texts, tokens]. False without
/// inputs: no worker has the model yet.
bool takes_texts(const model_signature& signature, int64_t tokens);

/// The inputs of the signature, one after the other, each [texts, tokens]: `input_ids`, `attention_mask` and
/// `token_type_ids`. Shorter texts end in `padding`, which the mask leaves out. Requires: `takes_texts`, and
/// no text has more tokens than the inputs.
std::vector<std::byte> encoder_inputs(std::span<const llm::encoded_text> texts, uint32_t padding,
                                      const model_signature& signature);

}  // namespace troupe
