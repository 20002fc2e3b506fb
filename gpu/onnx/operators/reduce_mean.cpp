// ReduceMean: over all spatial dimensions it is a global pool, otherwise a plain loop.
#include <algorithm>
#include <numeric>

#include "gpu/onnx/operators/pool.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_reduce_mean(plan_builder& b) {
  const auto& x = b.in_fp32(0);
  const size_t rank = x.dims.size();
  std::vector<bool> reduced(rank, false);
  if (const auto axes = b.integers("axes"); axes && !axes->empty()) {
    for (const int64_t a : *axes) reduced[static_cast<size_t>(b.axis(a, rank))] = true;
  } else {
    reduced.assign(rank, true);
  }
  const bool keep = b.integer("keepdims", 1) != 0;
  shape out_dims;
  for (size_t i = 0; i < rank; ++i) {
    if (!reduced[i]) out_dims.push_back(x.dims[i]);
    if (reduced[i] && keep) out_dims.push_back(1);
  }

  const bool spatial = has_spatial_dimensions(x) && !reduced[0] && !reduced[1] &&
                       std::all_of(reduced.begin() + 2, reduced.end(), [](bool r) { return r; });
  if (spatial) {
    emit_global_average(b, x);
    const value mean = b.plain_of(b.current().outputs.front());
    return b.output_alias(0, mean, out_dims);
  }

  const auto& source = b.plain(0);
  shape out_strides(rank, 0);  // of the output for every input dimension; 0 where it is reduced
  int64_t stride = 1, count = 1;
  for (size_t i = rank; i-- > 0;) {
    if (reduced[i]) {
      count *= x.dims[i];
    } else {
      out_strides[i] = stride;
      stride *= x.dims[i];
    }
  }
  const auto& out = b.output(0, x.type, out_dims);
  b.emit([in = source.data, to = out.data, dims = source.dims, out_strides, count, size = stride] {
    const auto* p = reinterpret_cast<const float*>(*in);
    std::vector<double> sums(static_cast<size_t>(size), 0);
    shape index(dims.size(), 0);
    int64_t at = 0;
    const int64_t n = element_count(dims);
    for (int64_t i = 0; i < n; ++i) {
      sums[static_cast<size_t>(at)] += p[i];
      for (size_t d = dims.size(); d-- > 0;) {
        at += out_strides[d];
        if (++index[d] < dims[d]) break;
        at -= out_strides[d] * dims[d];
        index[d] = 0;
      }
    }
    auto* r = reinterpret_cast<float*>(*to);
    for (int64_t i = 0; i < size; ++i) {
      r[i] = static_cast<float>(sums[static_cast<size_t>(i)] / static_cast<double>(count));
    }
  });
}

}  // namespace troupe::onnx
