// Cast between booleans, integers and floating point numbers. What does not fit an integer type becomes its
// nearest value, a NaN 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (std::isnan(x)) return 0;
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// Calls `run(T{})` with the C++ type of `type`.
template <class Run>
void with_type(plan_builder& b, data_type type, const Run& run) {
  switch (type) {
    case data_type::boolean: return run(bool{});
    case data_type::uint8: return run(uint8_t{});
    case data_type::int8: return run(int8_t{});
    case data_type::int32: return run(int32_t{});
    case data_type::int64: return run(int64_t{});
    case data_type::fp32: return run(float{});
    case data_type::fp64: return run(double{});
    default: b.fail(fmt::format("does not support {}", to_string(type)));
  }
}

data_type target_of(plan_builder& b) {
  switch (b.integer("to", 0)) {  // numbered by TensorProto.DataType
    case 1: return data_type::fp32;
    case 2: return data_type::uint8;
    case 3: return data_type::int8;
    case 6: return data_type::int32;
    case 7: return data_type::int64;
    case 9: return data_type::boolean;
    case 11: return data_type::fp64;
    default: b.fail(fmt::format("does not support the type {}", b.integer("to", 0)));
  }
}

}  // namespace

void build_cast(plan_builder& b) {
  const auto to = target_of(b);
  const auto& x = b.plain(0);
  if (x.type == to) return b.output_alias(0, x, x.dims);
  const auto& y = b.output(0, to, x.dims);
  with_type(b, x.type, [&](auto from_zero) {
    with_type(b, to, [&](auto to_zero) {
      using from_type = decltype(from_zero);
      using to_type = decltype(to_zero);
      b.emit([in = x.data, out = y.data, n = x.elements()] {
        const auto* p = reinterpret_cast<const from_type*>(*in);
        auto* r = reinterpret_cast<to_type*>(*out);
        std::transform(p, p + n, r, [](from_type v) { return convert<to_type>(v); });
      });
    });
  });
}

}  // namespace troupe::onnx
