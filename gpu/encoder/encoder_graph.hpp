// An encoder as a graph of the native engine, for texts of one length.
#pragma once
#include <cstdint>

#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/onnx/graph.hpp"

namespace troupe {

/// Inputs, as exporters of encoders name them, each [rows, tokens] of INT64: `input_ids`; `attention_mask`, 0
/// for padding behind a text; `token_type_ids`, if the model has several. Output: `sentence_embedding`
/// [rows, hidden], or `logits` [rows, labels] of a classifier.
///
/// The weights come from the folder's safetensors, and are the same for all lengths. Queries, keys and values
/// are one product, and their scale is part of the weights. Requires: 1 <= tokens <= e.max_tokens. Throws
/// model_error, which names file and tensor.
onnx::graph encoder_graph(const encoder_config& e, uint32_t tokens);

}  // namespace troupe
