// Concat: feature maps through oneDNN, other tensors by copying.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

using tag = dnnl::memory::format_tag;

dnnl::memory::desc tagged(const shape& dims, tag t) { return {dims, dnnl::memory::data_type::f32, t}; }

/// The layout to concatenate in: that of the first input that is not row-major if it keeps full blocks of
/// channels, else channels last. By default oneDNN may choose its slow reference, and padded layouts that its
/// elementwise functions compute wrongly (2.6: sigmoid on Bacd16b).
tag joint_layout(plan_builder& b, size_t rank) {
  struct family {
    tag last, blocks_of_16, blocks_of_8;
  };
  const family known[] = {{tag::nwc, tag::nCw16c, tag::nCw8c},
                          {tag::nhwc, tag::nChw16c, tag::nChw8c},
                          {tag::ndhwc, tag::nCdhw16c, tag::nCdhw8c}};
  const auto& f = known[rank - 3];
  const auto all_full = [&](int64_t block) {
    for (size_t i = 0; i < b.current().inputs.size(); ++i) {
      if (b.in(i).dims[1] % block != 0) return false;
    }
    return true;
  };
  for (size_t i = 0; i < b.current().inputs.size(); ++i) {
    const auto& x = b.in(i);
    if (x.plain) continue;
    if (all_full(16) && x.layout == tagged(x.dims, f.blocks_of_16)) return f.blocks_of_16;
    if (all_full(8) && x.layout == tagged(x.dims, f.blocks_of_8)) return f.blocks_of_8;
    break;
  }
  return f.last;
}

void concat_in_layout(plan_builder& b, size_t axis, const shape& out_dims) {
  const auto layout = joint_layout(b, out_dims.size());
  std::vector<dnnl::memory::desc> layouts;
  std::vector<plan_builder::argument> arguments;
  for (size_t i = 0; i < b.current().inputs.size(); ++i) {
    const auto& x = b.in(i);
    layouts.push_back(tagged(x.dims, layout));
    const auto part = b.in_layout(x, layouts.back());
    arguments.push_back({DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), layouts.back(), part.data});
  }
  const auto whole = tagged(out_dims, layout);
  const dnnl::concat::primitive_desc pd(whole, static_cast<int>(axis), layouts, cpu_engine(),
                                        plan_builder::attributes());
  const auto& out = b.output(0, out_dims, whole);
  arguments.push_back({DNNL_ARG_DST, whole, out.data});
  b.emit(dnnl::concat(pd), pd.scratchpad_desc(), std::move(arguments));
}

void concat_by_copying(plan_builder& b, size_t axis, const shape& out_dims) {
  struct part {
    address data;
    size_t bytes;  // of one block: all dimensions from the axis on
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
  const bool ranked = out_dims.size() >= 3 && out_dims.size() <= 5;
  if (library && laid_out && ranked) return concat_in_layout(b, axis, out_dims);
  concat_by_copying(b, axis, out_dims);
}

}  // namespace troupe::onnx
