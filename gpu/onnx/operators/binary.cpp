// Add, Sub, Mul, Div, Pow with broadcasting, on fp32, fp64, int32 and int64; Pow also with an exponent of
// another type.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "gpu/common/integer_power.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/operators/broadcast.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

// Integers wrap around on overflow.
struct add {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a + b;
    else
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
  }
};
struct subtract {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a - b;
    else
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) -
                            static_cast<std::make_unsigned_t<T>>(b));
  }
};
struct multiply {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) *
                            static_cast<std::make_unsigned_t<T>>(b));
  }
};
struct divide {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a / b;
    } else {
      if (b == 0) throw model_error("division of an integer by zero");
      return b == -1 ? subtract::apply(T{0}, a) : a / b;
    }
  }
};
struct power {
  template <class T, class Exponent>
  static T apply(T a, Exponent b) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(a, static_cast<T>(b));
    } else {
      const double p = integer_power(static_cast<double>(a), static_cast<double>(b));
      if (!(std::abs(p) < -static_cast<double>(std::numeric_limits<T>::min())))
        throw model_error("Pow overflows");
      return static_cast<T>(p);
    }
  }
};

template <class Op, class T, class Right = T>
void emit_binary(plan_builder& b, const broadcast& walk, address left, address right, address out) {
  b.emit([walk, left, right, out] {
    const auto* x = reinterpret_cast<const T*>(*left);
    const auto* y = reinterpret_cast<const Right*>(*right);
    auto* z = reinterpret_cast<T*>(*out);
    walk.for_each_run([&](int64_t at, int64_t i, int64_t j, int64_t n, int64_t x_step, int64_t y_step) {
      const T* p = x + i;
      const Right* q = y + j;
      T* r = z + at;
      if (x_step == 1 && y_step == 1) {
        for (int64_t k = 0; k < n; ++k) r[k] = Op::apply(p[k], q[k]);
      } else if (x_step == 1 && y_step == 0) {
        for (int64_t k = 0; k < n; ++k) r[k] = Op::apply(p[k], *q);
      } else {
        for (int64_t k = 0; k < n; ++k) r[k] = Op::apply(p[k * x_step], q[k * y_step]);
      }
    });
  });
}

template <class Op>
void emit_binary(plan_builder& b, data_type type, const broadcast& walk, address left, address right,
                 address out) {
  switch (type) {
    case data_type::fp32: return emit_binary<Op, float>(b, walk, left, right, out);
    case data_type::fp64: return emit_binary<Op, double>(b, walk, left, right, out);
    case data_type::int32: return emit_binary<Op, int32_t>(b, walk, left, right, out);
    case data_type::int64: return emit_binary<Op, int64_t>(b, walk, left, right, out);
    default: b.fail(fmt::format("is not supported on {}", to_string(type)));
  }
}

template <class T>
void emit_power(plan_builder& b, data_type exponent, const broadcast& walk, address left, address right,
                address out) {
  switch (exponent) {
    case data_type::fp32: return emit_binary<power, T, float>(b, walk, left, right, out);
    case data_type::fp64: return emit_binary<power, T, double>(b, walk, left, right, out);
    case data_type::int32: return emit_binary<power, T, int32_t>(b, walk, left, right, out);
    case data_type::int64: return emit_binary<power, T, int64_t>(b, walk, left, right, out);
    default: b.fail(fmt::format("does not support exponents of {}", to_string(exponent)));
  }
}

/// Only Pow may have operands of two types; its result has the type of the first.
void emit_power(plan_builder& b, data_type type, data_type exponent, const broadcast& walk, address left,
                address right, address out) {
  switch (type) {
    case data_type::fp32: return emit_power<float>(b, exponent, walk, left, right, out);
    case data_type::fp64: return emit_power<double>(b, exponent, walk, left, right, out);
    case data_type::int32: return emit_power<int32_t>(b, exponent, walk, left, right, out);
    case data_type::int64: return emit_power<int64_t>(b, exponent, walk, left, right, out);
    default: b.fail(fmt::format("is not supported on {}", to_string(type)));
  }
}

/// Two activations of one shape, in the layout of the first, with a fused activation function.
void build_in_layout(plan_builder& b, const value& left, const value& right, dnnl::algorithm algorithm) {
  const auto layout = left.plain ? plain_layout(left.dims) : left.layout;
  const auto other = b.in_layout(right, layout);
  auto attributes = plan_builder::attributes();
  dnnl::post_ops behind;
  b.take_activation(behind, left.dims.size());
  attributes.set_post_ops(behind);
  const dnnl::binary::primitive_desc pd({algorithm, layout, layout, layout}, attributes, cpu_engine());
  const auto& out = b.output(0, left.dims, layout);
  b.emit(dnnl::binary(pd), pd.scratchpad_desc(),
         {{DNNL_ARG_SRC_0, layout, left.data},
          {DNNL_ARG_SRC_1, layout, other.data},
          {DNNL_ARG_DST, layout, out.data}});
}

}  // namespace

void build_binary(plan_builder& b) {
  const auto& op = b.current().op;
  const auto &left = b.in(0), &right = b.in(1);
  if (left.type != right.type && op != "Pow") {
    b.fail(fmt::format("its inputs differ in type ({} and {})", to_string(left.type), to_string(right.type)));
  }
  const bool activations = left.memory && right.memory && left.type == data_type::fp32;
  if (activations && left.dims == right.dims && !left.dims.empty() && (op == "Add" || op == "Mul")) {
    return build_in_layout(b, left, right,
                           op == "Add" ? dnnl::algorithm::binary_add : dnnl::algorithm::binary_mul);
  }
  const auto walk = broadcast::of(left.dims, right.dims);
  if (!walk) b.fail(fmt::format("{} and {} do not broadcast", to_string(left.dims), to_string(right.dims)));
  const auto type = left.type, exponent = right.type;
  const address x = b.plain(0).data, y = b.plain(1).data;
  const address z = b.output(0, type, walk->result).data;
  if (element_count(walk->result) == 0) return;
  if (op == "Add") return emit_binary<add>(b, type, *walk, x, y, z);
  if (op == "Sub") return emit_binary<subtract>(b, type, *walk, x, y, z);
  if (op == "Mul") return emit_binary<multiply>(b, type, *walk, x, y, z);
  if (op == "Div") return emit_binary<divide>(b, type, *walk, x, y, z);
  emit_power(b, type, exponent, *walk, x, y, z);
}

}  // namespace troupe::onnx
