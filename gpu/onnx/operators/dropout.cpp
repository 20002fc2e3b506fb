// Dropout: the identity at inference.
#include <vector>

#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_dropout(plan_builder& b) {
  if (b.has(2)) {  // training_mode, since opset 12
    const auto& training = b.in(2);
    if (!training.constant || training.type != data_type::boolean || training.elements() != 1 ||
        training.constant->as<uint8_t>()[0] != 0) {
      b.fail("is in training mode: export the model for inference");
    }
  }
  const auto& x = b.in(0);
  const auto& outputs = b.current().outputs;
  if (outputs.size() > 1 && !outputs[1].empty()) {  // mask of the kept elements
    const std::vector<std::byte> ones(static_cast<size_t>(x.elements()), std::byte{1});
    b.output_constant(1, make_tensor(data_type::boolean, x.dims, ones));
  }
  b.output_alias(0, x, x.dims);
}

}  // namespace troupe::onnx
