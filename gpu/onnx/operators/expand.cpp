// Expand and ConstantOfShape.
#include <fmt/format.h>

#include <cstring>

#include "gpu/onnx/operators/broadcast.hpp"
#include "gpu/onnx/operators/strided_copy.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_expand(plan_builder& b) {
  const auto& x = b.plain(0);
  const shape wanted = b.constant_ints(1);
  const auto walk = element_count(wanted) < 0 ? std::nullopt : broadcast::of(x.dims, wanted);
  if (!walk) b.fail(fmt::format("cannot expand {} to {}", to_string(x.dims), to_string(wanted)));
  const shape& dims = walk->result;
  shape steps(dims.size(), 0);
  const shape own = strides_of(x.dims);
  for (size_t i = 0; i < own.size(); ++i) {
    if (x.dims[i] > 1) steps[dims.size() - own.size() + i] = own[i];
  }
  const auto& out = b.output(0, x.type, dims);
  b.emit([in = x.data, to = out.data,
          copy = strided_copy(dims, {steps}, {strides_of(dims)}, size_of(x.type))] { copy(*in, *to); });
}

void build_constant_of_shape(plan_builder& b) {
  const shape dims = b.constant_ints(0);
  const auto value = b.tensor_attribute("value");
  const auto type = value ? value->type : data_type::fp32;
  const int64_t count = element_count(dims);
  if (count < 0) b.fail(fmt::format("cannot fill the shape {}", to_string(dims)));
  if (value && value->elements() != 1) b.fail("attribute 'value' must hold one element");
  const size_t size = size_of(type);
  if (static_cast<uint64_t>(count) > max_folded_bytes / size) {
    b.fail(fmt::format("would fill {} bytes, at most {} are allowed", static_cast<size_t>(count) * size,
                       max_folded_bytes));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  if (value) {
    for (size_t at = 0; at < bytes.size(); at += size) {
      std::memcpy(bytes.data() + at, value->data->data(), size);
    }
  }
  b.output_constant(0, make_tensor(type, dims, bytes));
}

}  // namespace troupe::onnx
