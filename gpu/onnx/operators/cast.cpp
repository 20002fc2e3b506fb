// Cast between all types of fixed element size. Floating point to integer saturates, and a NaN becomes 0.
// Integer to integer keeps the lowest bits. FP16 and BF16 are converted through float.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu/common/half.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

/// A BOOL as clients send it: any non-zero byte is true.
struct flag {
  uint8_t byte = 0;

  flag() = default;
  explicit flag(bool set) : byte(set) {}
  explicit operator bool() const { return byte != 0; }
};

/// Arithmetic type of an element.
template <class T>
T number(T x) {
  return x;
}
bool number(flag x) { return static_cast<bool>(x); }
float number(half x) { return static_cast<float>(x); }
float number(bfloat x) { return static_cast<float>(x); }

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, flag>) {
    return flag(x != From{0});
  } else if constexpr (std::is_same_v<To, half> || std::is_same_v<To, bfloat>) {
    return To(static_cast<float>(x));
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
    case data_type::boolean: return run(flag{});
    case data_type::uint8: return run(uint8_t{});
    case data_type::uint16: return run(uint16_t{});
    case data_type::uint32: return run(uint32_t{});
    case data_type::uint64: return run(uint64_t{});
    case data_type::int8: return run(int8_t{});
    case data_type::int16: return run(int16_t{});
    case data_type::int32: return run(int32_t{});
    case data_type::int64: return run(int64_t{});
    case data_type::fp16: return run(half{});
    case data_type::bf16: return run(bfloat{});
    case data_type::fp32: return run(float{});
    case data_type::fp64: return run(double{});
    case data_type::bytes: b.fail("does not support BYTES");
  }
}

}  // namespace

void build_cast(plan_builder& b) {
  const auto number_of_type = b.integer("to", 0);
  const auto to = type_numbered(number_of_type);
  if (!to) b.fail(fmt::format("does not support the type {}", number_of_type));
  const auto& x = b.plain(0);
  if (x.type == *to) return b.output_alias(0, x, x.dims);
  const auto& y = b.output(0, *to, x.dims);
  with_type(b, x.type, [&](auto from_zero) {
    with_type(b, *to, [&](auto to_zero) {
      using from_type = decltype(from_zero);
      using to_type = decltype(to_zero);
      b.emit([in = x.data, out = y.data, n = x.elements()] {
        const auto* p = reinterpret_cast<const from_type*>(*in);
        auto* r = reinterpret_cast<to_type*>(*out);
        std::transform(p, p + n, r, [](from_type v) { return convert<to_type>(number(v)); });
      });
    });
  });
}

}  // namespace troupe::onnx
