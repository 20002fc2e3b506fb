// Whatever bytes a model file holds, reading it ends in a graph or in a message.
#include <cstddef>
#include <cstdint>

#include "gpu/onnx/loader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    troupe::onnx::parse_graph(std::as_bytes(std::span{data, size}), "fuzz.onnx");
  } catch (const troupe::model_error&) {
  }
  return 0;
}
