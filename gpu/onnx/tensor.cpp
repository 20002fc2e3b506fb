#include "gpu/onnx/tensor.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace troupe::onnx {

int64_t element_count(std::span<const int64_t> dims) {
  if (dims.size() > max_rank) return -1;
  int64_t n = 1;
  for (const int64_t d : dims) {
    if (d < 0 || __builtin_mul_overflow(n, d, &n) || n > max_tensor_bytes / 8) return -1;
  }
  return n;
}

std::string to_string(const shape& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

shape joined(std::span<const int64_t> front, std::span<const int64_t> back) {
  shape dims(front.size() + back.size());
  std::ranges::copy(back, std::ranges::copy(front, dims.begin()).out);
  return dims;
}

shape strides_of(std::span<const int64_t> dims) {
  shape strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

tensor make_tensor(data_type type, shape dims, std::span<const std::byte> bytes) {
  tensor t{type, std::move(dims), nullptr};
  assert(t.elements() >= 0 && t.bytes() == bytes.size());
  auto memory = std::make_shared<aligned_bytes>(bytes.size());
  if (!bytes.empty()) std::memcpy(memory->data(), bytes.data(), bytes.size());
  t.data = std::move(memory);
  return t;
}

tensor make_ints(const std::vector<int64_t>& values) {
  return make_tensor(data_type::int64, {static_cast<int64_t>(values.size())},
                     std::as_bytes(std::span{values}));
}

}  // namespace troupe::onnx
