#include "gpu/onnx/memory_layout.hpp"

#include <algorithm>

namespace troupe::onnx {

dnnl::memory::desc plain_layout(const shape& dims) {
  const shape shown = dims.empty() ? shape{1} : dims;
  return {shown, dnnl::memory::data_type::f32, strides_of(shown)};
}

dnnl::memory::desc any_layout(const shape& dims) {
  return {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}

bool is_row_major(const dnnl::memory::desc& layout) {
  const auto& d = layout.data;
  if (d.format_kind != dnnl_blocked || d.format_desc.blocking.inner_nblks != 0 || d.offset0 != 0)
    return false;
  dnnl_dim_t stride = 1;
  for (int i = d.ndims; i-- > 0;) {
    if (d.dims[i] != d.padded_dims[i] || (d.dims[i] > 1 && d.format_desc.blocking.strides[i] != stride)) {
      return false;
    }
    stride *= d.dims[i];
  }
  return true;
}

size_t lay_out(std::deque<buffer>& buffers) {
  std::vector<buffer*> order;
  for (auto& b : buffers) order.push_back(&b);
  std::ranges::stable_sort(order, std::ranges::greater{}, &buffer::size);

  std::vector<buffer*> placed;  // by offset
  size_t total = 0;
  for (auto* b : order) {
    const size_t size = (b->size + 63) / 64 * 64;
    size_t offset = 0;
    for (const auto* other : placed) {
      if (other->last < b->first || b->last < other->first) continue;
      if (offset + size <= other->offset) break;
      offset = std::max(offset, other->offset + (other->size + 63) / 64 * 64);
    }
    b->offset = offset;
    total = std::max(total, offset + size);
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &buffer::offset), b);
  }
  return total;
}

}  // namespace troupe::onnx
