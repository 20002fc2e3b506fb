// Operators that only change the shape (Identity, Reshape, Flatten, Squeeze, Unsqueeze), and Shape, whose
// output is known when the plan is built.
#include <fmt/format.h>

#include <algorithm>

#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

/// The `axes` of Squeeze and Unsqueeze: an attribute up to opset 12, an input since 13.
std::optional<std::vector<int64_t>> read_axes(plan_builder& b) {
  if (b.opset() < 13) return b.integers("axes");
  if (b.has(1)) return b.constant_ints(1);
  return std::nullopt;
}

}  // namespace

void build_identity(plan_builder& b) {
  const auto& x = b.in(0);
  b.output_alias(0, x, x.dims);
}

void build_shape(plan_builder& b) {
  const auto& dims = b.in(0).dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamp = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(b.integer("start", 0)), end = clamp(b.integer("end", rank));
  if (start >= end) return b.output_constant(0, make_ints({}));
  b.output_constant(0, make_ints({dims.begin() + start, dims.begin() + end}));
}

void build_reshape(plan_builder& b) {
  const auto& x = b.plain(0);
  shape dims = b.constant_ints(1);
  const bool zero_means_zero = b.integer("allowzero", 0) != 0;
  const auto fail = [&] {
    b.fail(fmt::format("cannot reshape {} to {}", to_string(x.dims), to_string(b.constant_ints(1))));
  };
  int64_t* inferred = nullptr;
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !zero_means_zero) {
      if (i >= x.dims.size()) fail();
      dims[i] = x.dims[i];
    }
    if (dims[i] == -1) {
      if (inferred) fail();
      inferred = &dims[i];
    } else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known)) {
      fail();
    }
  }
  if (inferred) {
    if (known == 0 || x.elements() % known != 0) fail();
    *inferred = x.elements() / known;
  }
  b.output_alias(0, x, std::move(dims));
}

void build_flatten(plan_builder& b) {
  const auto& x = b.plain(0);
  const int64_t given = b.integer("axis", 1);
  const auto rank = static_cast<int64_t>(x.dims.size());
  const auto axis = given == rank ? rank : b.axis(given, x.dims.size());
  const int64_t outer = element_count({x.dims.begin(), x.dims.begin() + axis});
  b.output_alias(0, x, {outer, element_count({x.dims.begin() + axis, x.dims.end()})});
}

void build_squeeze(plan_builder& b) {
  const auto& x = b.plain(0);
  const auto axes = read_axes(b);
  std::vector<bool> gone(x.dims.size());
  for (size_t i = 0; i < gone.size(); ++i) gone[i] = !axes && x.dims[i] == 1;
  for (const int64_t a : axes.value_or(std::vector<int64_t>{})) {
    const auto i = static_cast<size_t>(b.axis(a, x.dims.size()));
    if (x.dims[i] != 1) b.fail(fmt::format("cannot squeeze axis {} of {}", a, to_string(x.dims)));
    gone[i] = true;
  }
  shape dims;
  for (size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) dims.push_back(x.dims[i]);
  }
  b.output_alias(0, x, std::move(dims));
}

void build_unsqueeze(plan_builder& b) {
  const auto& x = b.plain(0);
  const auto axes = read_axes(b);
  if (!axes) b.fail("its axes are missing");
  const size_t rank = x.dims.size() + axes->size();
  if (rank > max_rank) b.fail("its output would have too many dimensions");
  shape dims(rank, 0);
  for (const int64_t a : *axes) {
    auto& d = dims[static_cast<size_t>(b.axis(a, rank))];
    if (d == 1) b.fail("names an axis twice");
    d = 1;
  }
  auto next = x.dims.begin();
  for (auto& d : dims) {
    if (d == 0) d = *next++;
  }
  b.output_alias(0, x, std::move(dims));
}

}  // namespace troupe::onnx
