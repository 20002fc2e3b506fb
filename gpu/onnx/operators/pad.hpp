#pragma once
#include <cstdint>
#include <vector>

namespace troupe::onnx {

/// For every position along a dimension of the output the one in the input that it shows: the edge's, or the
/// reflection's.
std::vector<int64_t> shown_by_padding(int64_t input, int64_t output, int64_t before, bool reflect);

}  // namespace troupe::onnx
