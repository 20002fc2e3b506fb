// Whatever bytes a model file holds, reading it and planning how to run it end in a model or in a message.
#include <cstddef>
#include <cstdint>

#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const troupe::onnx::model m(troupe::onnx::parse_graph(std::as_bytes(std::span{data, size}), "fuzz.onnx"));
  } catch (const troupe::model_error&) {
  }
  return 0;
}
