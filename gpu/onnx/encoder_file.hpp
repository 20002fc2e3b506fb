// ONNX files of encoders of texts, as exporters of Transformers and Sentence Transformers write them, made
// ready for texts of one length and with one answer a text.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {

/// How the vectors of a text's tokens become its answer.
enum class encoder_head : uint8_t {
  mean,   ///< `sentence_embedding`: their mean over the mask
  cls,    ///< `sentence_embedding`: the first one
  scores  ///< `logits`, as the file computes them
};

/// A file has the inputs `input_ids` and `attention_mask`, and perhaps `token_type_ids`, each [texts, tokens]
/// of INT64 or INT32, and one of these outputs; others are left out.
///
/// - Embeddings: `sentence_embedding` [texts, width], or the only output if it has two dimensions: taken as
///   they are. Or `last_hidden_state`, `token_embeddings` or the only output with three dimensions
///   [texts, tokens, width]: pooled by nodes that are added behind it.
/// - Scores: `logits`, or the only output, [texts, labels].
struct encoder_file {
  std::filesystem::path path;
  encoder_head head = encoder_head::mean;
  bool normalise = false;  ///< of embeddings: nodes are added that make their length 1
};

/// The graph for texts of `tokens` tokens, with one output of FP32, `sentence_embedding` or `logits`. All
/// functions throw unreadable_model, which names the file and the fix, if its inputs and outputs are others,
/// and `load_encoder` also as `load_graph` does. They check no node.
graph load_encoder(const encoder_file& file, uint32_t tokens);
/// The same as the content of an ONNX file, of any opset.
std::string encoder_content(const encoder_file& file, uint32_t tokens);
/// Numbers of an answer; 0: the file does not declare them.
uint32_t declared_width(const encoder_file& file);

}  // namespace troupe::onnx
