// Memory layouts of tensors, and the placement of a plan's tensors in shared memory.
#pragma once
#include <deque>
#include <oneapi/dnnl/dnnl.hpp>

#include "gpu/onnx/plan.hpp"

namespace troupe::onnx {

inline constexpr size_t max_plan_bytes = size_t{1} << 35;

dnnl::memory::desc plain_layout(const shape& dims);  ///< row-major fp32; rank 0 becomes [1]
dnnl::memory::desc any_layout(const shape& dims);    ///< for the library to choose
/// True if an fp32 tensor in this layout has the same bytes as in row-major order.
bool is_row_major(const dnnl::memory::desc& layout);

/// Gives every buffer an offset such that buffers needed at the same time do not overlap: largest first, each
/// at the lowest free offset. Returns the total size in bytes.
size_t lay_out(std::deque<buffer>& buffers);

}  // namespace troupe::onnx
