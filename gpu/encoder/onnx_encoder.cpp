#include "gpu/encoder/onnx_encoder.hpp"

#include "gpu/onnx/encoder_file.hpp"

namespace troupe {
namespace {

onnx::encoder_head head_of(encoder_pooling p) {
  switch (p) {
    case encoder_pooling::mean: return onnx::encoder_head::mean;
    case encoder_pooling::cls: return onnx::encoder_head::cls;
    case encoder_pooling::classifier: break;
  }
  return onnx::encoder_head::scores;
}

onnx::encoder_file file_of(const encoder_config& e) { return {e.onnx, head_of(e.pooling), e.normalise}; }

}  // namespace

onnx::graph onnx_encoder_graph(const encoder_config& e, uint32_t tokens) {
  return onnx::load_encoder(file_of(e), tokens);
}

std::string onnx_encoder_content(const encoder_config& e, uint32_t tokens) {
  return onnx::encoder_content(file_of(e), tokens);
}

uint32_t onnx_encoder_width(const encoder_config& e) { return onnx::declared_width(file_of(e)); }

}  // namespace troupe
