#pragma once
#include <cstdint>
#include <vector>

namespace troupe::onnx {

/// For every position along a dimension of the output, the position in the input that it shows, by edge or by
/// reflection.
std::vector<int64_t> shown_by_padding(int64_t input, int64_t output, int64_t before, bool reflect);

}  // namespace troupe::onnx
