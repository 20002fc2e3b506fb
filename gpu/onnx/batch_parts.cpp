#include "gpu/onnx/batch_parts.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"

namespace troupe::onnx {

void check_parts(const model_signature& s, const std::string& file, uint32_t rows,
                 std::span<const batch_part> parts) {
  uint64_t sum = 0;
  for (const auto& part : parts) {
    sum += part.rows;
    const auto input = part.rows * input_row_bytes(s), output = part.rows * output_row_bytes(s);
    if (part.input.size() == input && part.output.size() == output) continue;
    throw model_error(fmt::format("{}: {} rows need {} bytes of input and {} of output, got {} and {}", file,
                                  part.rows, input, output, part.input.size(), part.output.size()));
  }
  if (sum != rows || rows == 0)
    throw model_error(fmt::format("a batch of {} rows has parts of {}", rows, sum));
}

}  // namespace troupe::onnx
