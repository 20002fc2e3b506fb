// An encoder's ONNX file with the pooling and normalisation of its folder (gpu/onnx/encoder_file.hpp).
#pragma once
#include <cstdint>
#include <string>

#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/onnx/graph.hpp"

namespace troupe {

/// All require: `e.onnx` is a file. The graphs are for texts of `tokens` tokens, with the output of
/// `encoder_graph`. They throw model_error, which names the file and the fix; unreadable_model if no engine
/// runs it.

/// For the native engine.
onnx::graph onnx_encoder_graph(const encoder_config& e, uint32_t tokens);
/// The content of an ONNX file, for OpenVINO.
std::string onnx_encoder_content(const encoder_config& e, uint32_t tokens);
/// Numbers of an answer; 0: only a plan for the graph says how many.
uint32_t onnx_encoder_width(const encoder_config& e);

}  // namespace troupe
