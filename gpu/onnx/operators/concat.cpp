// Concat: of activations in whatever layout they have through oneDNN, of anything else by copying.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

void concat_in_layout(plan_builder& b, size_t axis, const shape& out_dims) {
  std::vector<dnnl::memory::desc> layouts;
  std::vector<plan_builder::argument> arguments;
  for (size_t i = 0; i < b.current().inputs.size(); ++i) {
    const auto& x = b.in(i);
    layouts.push_back(x.plain ? plain_layout(x.dims) : x.layout);
    arguments.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), layouts.back(), x.data});
  }
  const dnnl::concat::primitive_desc pd(static_cast<int>(axis), layouts, cpu_engine(),
                                        plan_builder::attributes());
  const auto& out = b.output(0, out_dims, pd.dst_desc());
  arguments.push_back({DNNL_ARG_DST, pd.dst_desc(), out.data});
  b.emit(dnnl::concat(pd), pd.scratchpad_desc(), std::move(arguments));
}

void concat_by_copying(plan_builder& b, size_t axis, const shape& out_dims) {
  struct part {
    address data;
    size_t bytes;  // of one block: everything from the axis on
  };
  const auto type = b.in(0).type;
  std::vector<part> parts;
  for (size_t i = 0; i < b.current().inputs.size(); ++i) {
    const auto& x = b.plain(i);
    const auto block = element_count({x.dims.begin() + static_cast<ptrdiff_t>(axis), x.dims.end()});
    parts.push_back({x.data, static_cast<size_t>(block) * size_of(type)});
  }
  const auto blocks = element_count({out_dims.begin(), out_dims.begin() + static_cast<ptrdiff_t>(axis)});
  b.emit([parts, blocks, out = b.output(0, type, out_dims).data] {
    std::byte* target = *out;
    for (int64_t k = 0; k < blocks; ++k) {
      for (const auto& p : parts) {
        if (p.bytes > 0) std::memcpy(target, *p.data + static_cast<size_t>(k) * p.bytes, p.bytes);
        target += p.bytes;
      }
    }
  });
}

}  // namespace

void build_concat(plan_builder& b) {
  const auto& first = b.in(0);
  const auto axis = static_cast<size_t>(b.axis(b.integer("axis", 0), first.dims.size()));
  shape out_dims = first.dims;
  out_dims[axis] = 0;
  bool library = true, laid_out = false;
  for (size_t i = 0; i < b.current().inputs.size(); ++i) {
    const auto& x = b.in(i);
    bool fits = x.type == first.type && x.dims.size() == first.dims.size();
    for (size_t d = 0; fits && d < x.dims.size(); ++d) fits = d == axis || x.dims[d] == first.dims[d];
    if (!fits) b.fail(fmt::format("cannot join {} to {}", to_string(x.dims), to_string(first.dims)));
    out_dims[axis] += x.dims[axis];
    library = library && x.type == data_type::fp32 && x.elements() > 0;
    laid_out = laid_out || !x.plain;
  }
  if (library && laid_out) return concat_in_layout(b, axis, out_dims);
  concat_by_copying(b, axis, out_dims);
}

}  // namespace troupe::onnx
