// The index arithmetic of the operator Pad.
#pragma once
#include <cstdint>
#include <vector>

namespace troupe::onnx {

/// For each index along one dimension of the output, the index of its source in the input. `input`, `output`:
/// sizes; `before`: padding in front; `reflect`: mirrored, else the nearest edge.
std::vector<int64_t> shown_by_padding(int64_t input, int64_t output, int64_t before, bool reflect);

}  // namespace troupe::onnx
