// Equal, Greater, GreaterOrEqual, Less, LessOrEqual with broadcasting, on fp32, fp64, int32, int64 and
// (Equal) BOOL; Not. The result is BOOL.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "gpu/onnx/operators/broadcast.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

template <class Op, class T>
void emit(plan_builder& b, const broadcast& walk, address left, address right, address out) {
  b.emit([walk, left, right, out] {
    const auto* x = reinterpret_cast<const T*>(*left);
    const auto* y = reinterpret_cast<const T*>(*right);
    auto* z = reinterpret_cast<uint8_t*>(*out);
    walk.for_each_run([&](int64_t at, int64_t i, int64_t j, int64_t n, int64_t x_step, int64_t y_step) {
      for (int64_t k = 0; k < n; ++k) z[at + k] = Op{}(x[i + k * x_step], y[j + k * y_step]);
    });
  });
}

template <class T>
void emit(plan_builder& b, const broadcast& walk, address left, address right, address out) {
  const auto& op = b.current().op;
  if (op == "Equal") return emit<std::equal_to<>, T>(b, walk, left, right, out);
  if (op == "Greater") return emit<std::greater<>, T>(b, walk, left, right, out);
  if (op == "GreaterOrEqual") return emit<std::greater_equal<>, T>(b, walk, left, right, out);
  if (op == "Less") return emit<std::less<>, T>(b, walk, left, right, out);
  emit<std::less_equal<>, T>(b, walk, left, right, out);
}

}  // namespace

void build_compare(plan_builder& b) {
  const auto &x = b.plain(0), &y = b.plain(1);
  const auto type = x.type;
  if (y.type != type) {
    b.fail(fmt::format("its inputs differ in type ({} and {})", to_string(type), to_string(y.type)));
  }
  const auto walk = broadcast::of(x.dims, y.dims);
  if (!walk) b.fail(fmt::format("{} and {} do not broadcast", to_string(x.dims), to_string(y.dims)));
  const auto& out = b.output(0, data_type::boolean, walk->result);
  if (out.elements() == 0) return;
  switch (type) {
    case data_type::fp32: return emit<float>(b, *walk, x.data, y.data, out.data);
    case data_type::fp64: return emit<double>(b, *walk, x.data, y.data, out.data);
    case data_type::int32: return emit<int32_t>(b, *walk, x.data, y.data, out.data);
    case data_type::int64: return emit<int64_t>(b, *walk, x.data, y.data, out.data);
    case data_type::boolean:
      if (b.current().op == "Equal") return emit<uint8_t>(b, *walk, x.data, y.data, out.data);
      [[fallthrough]];
    default: b.fail(fmt::format("is not supported on {}", to_string(type)));
  }
}

void build_not(plan_builder& b) {
  const auto& x = b.plain(0);
  if (x.type != data_type::boolean) b.fail(fmt::format("takes BOOL, not {}", to_string(x.type)));
  const auto& out = b.output(0, x.type, x.dims);
  b.emit([in = x.data, to = out.data, n = x.elements()] {
    const auto* p = reinterpret_cast<const uint8_t*>(*in);
    std::transform(p, p + n, reinterpret_cast<uint8_t*>(*to), [](uint8_t v) { return v == 0; });
  });
}

}  // namespace troupe::onnx
