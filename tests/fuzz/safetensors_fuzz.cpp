// Any bytes as a safetensors file are refused with a message, or its tensors are contiguous within the file
// and match their shapes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "gpu/checkpoint/safetensors.hpp"
#include "gpu/checkpoint/tensor_files.hpp"
#include "gpu/common/model_error.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// Reads it as a weight of its own shape.
void use(const std::string& name, const stored_tensor& t) {
  try {
    const auto w = weight_of(t, name, t.shape, "fuzz");
    size_t size = troupe::element_bytes(w.type);
    for (const uint64_t d : w.shape) size *= d;
    require(size == w.bytes.size());
  } catch (const model_error& e) {
    require(t.type != "F32" && std::string_view(e.what()).size() < 500);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  try {
    const safetensors file(bytes, "fuzz");
    size_t covered = 0;
    for (const auto& [name, t] : file.tensors()) {
      covered += t.bytes.size();
      require(t.bytes.data() >= bytes.data() && t.bytes.data() + t.bytes.size() <= bytes.data() + size);
      require(file.find(name) == &t);
      use(name, t);
    }
    require(covered < size);
  } catch (const model_error& e) {
    require(std::string_view(e.what()).size() < 500);
  }
  return 0;
}
