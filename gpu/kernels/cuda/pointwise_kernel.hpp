// A fused chain of elementwise operations: each result stays in a register until the last one is written. The
// chain is data, so one kernel interprets every chain; the threads of a warp do not diverge.
//
// Memory traffic is the operands and the output; repeated operands come from caches.
#pragma once
#include <cmath>

#include "gpu/common/integer_power.hpp"
#include "gpu/kernels/cuda/kernel_fault.hpp"
#include "gpu/kernels/cuda/stored_number.hpp"
#include "gpu/kernels/cuda/tensor_walk.hpp"

namespace troupe::cuda {

/// x: the chain's value so far; a, b: operands; p, q: the instruction's numbers.
enum class pointwise_op : uint8_t {
  add,            ///< x + a
  subtract,       ///< x - a
  subtract_from,  ///< a - x
  multiply,
  divide,       ///< x / a; for integers a fault if a is 0
  divide_into,  ///< a / x
  power,        ///< x ^ a
  power_of,     ///< a ^ x
  power_int,    ///< x ^ a, of T = double, for integers up to p: a fault beyond
  equal,        ///< x == a
  greater,
  greater_equal,
  less,
  less_equal,
  logical_not,
  truth,  ///< x != 0
  relu,
  leaky_relu,    ///< p: slope below 0
  clip,          ///< to p .. q
  hard_sigmoid,  ///< p x + q, within 0 .. 1
  hard_swish,
  sigmoid,
  tanh,
  erf,
  exp,
  sqrt,
  choose,       ///< x != 0 ? a : b
  choose_true,  ///< a != 0 ? x : b
  choose_false  ///< a != 0 ? b : x
};

struct pointwise_instruction {
  pointwise_op op = pointwise_op::add;
  uint8_t a = 0, b = 0;  ///< operands
  double p = 0, q = 0;
};

struct pointwise_operand {
  const void* data = nullptr;
  data_type type = data_type::fp32;
  bool wide = false;  ///< four consecutive numbers of the walk may be read as one
  tensor_steps steps;
};

/// The arguments that do not depend on T.
struct pointwise_chain {
  static constexpr uint32_t max_operands = 8, max_instructions = 16;

  tensor_walk walk;    ///< in the order of the output's memory
  uint32_t count = 0;  ///< elements of the output
  uint32_t operands = 0, instructions = 0;
  pointwise_operand in[max_operands];  ///< the chain begins with the first
  pointwise_instruction instruction[max_instructions];
  data_type type = data_type::fp32;  ///< of the output
  void* out = nullptr;               ///< aligned to 16 bytes
  kernel_fault* fault = nullptr;     ///< for instructions that can fail
};

/// T: arithmetic type, float, double, int64_t or uint64_t. Width: elements per thread, a divisor of the
/// walk's last extent. If it is not 1, the last steps must be 0 or 1.
template <class T, uint32_t Width>
struct pointwise_kernel : pointwise_chain {
  static constexpr uint32_t threads = 256, cluster = 1;
  static constexpr bool never_syncs = true;

  grid_size grid() const { return {ceil_div(count / Width, threads), 1, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    const uint32_t first = (t.block() * threads + t.index()) * Width;
    if (first >= count) return;
    T x[Width];
    load(t, in[0], first, x);
    for (uint32_t i = 0; i < instructions; ++i) apply(t, instruction[i], first, x);
    if constexpr (Width == 4 && std::is_same_v<T, float>) {
      if (type == data_type::fp32) {
        vec16 v;
        memcpy(&v, x, sizeof v);
        t.store(static_cast<float*>(out) + first, v);
        return;
      }
    }
    TROUPE_UNROLL for (uint32_t j = 0; j < Width; ++j) store_number<T>(out, type, first + j, x[j]);
  }

 private:
  static constexpr bool real = std::is_floating_point_v<T>;

  template <class Thread>
  TROUPE_DEVICE void load(Thread t, const pointwise_operand& from, uint32_t first, T (&x)[Width]) const {
    int64_t at[1] = {};
    find_element<1>(walk, first, {&from.steps}, at);
    if constexpr (Width == 4 && std::is_same_v<T, float>) {
      if (from.wide) {
        const vec16 v = t.load(static_cast<const float*>(from.data) + at[0]);
        memcpy(x, &v, sizeof v);
        return;
      }
    }
    const int64_t step = from.steps.step[walk.dims - 1];
    TROUPE_UNROLL for (uint32_t j = 0; j < Width; ++j) x[j] =
        j > 0 && step == 0 ? x[0] : load_number<T>(from.data, from.type, at[0] + j * step);
  }

  template <class Thread>
  TROUPE_DEVICE void apply(Thread t, const pointwise_instruction& i, uint32_t first, T (&x)[Width]) const {
    using op = pointwise_op;
    T a[Width] = {}, b[Width] = {};
    if (i.op <= op::less_equal || i.op >= op::choose) load(t, in[i.a], first, a);
    if (i.op >= op::choose) load(t, in[i.b], first, b);
    const auto each = [&](auto f) {
      TROUPE_UNROLL for (uint32_t j = 0; j < Width; ++j) x[j] = static_cast<T>(f(x[j], a[j], b[j]));
    };
    switch (i.op) {
      case op::add:
        return each([](T v, T w, T) { return wrapped(v, w, [](auto m, auto n) { return m + n; }); });
      case op::subtract:
        return each([](T v, T w, T) { return wrapped(v, w, [](auto m, auto n) { return m - n; }); });
      case op::subtract_from:
        return each([](T v, T w, T) { return wrapped(w, v, [](auto m, auto n) { return m - n; }); });
      case op::multiply:
        return each([](T v, T w, T) { return wrapped(v, w, [](auto m, auto n) { return m * n; }); });
      case op::divide: return each([&](T v, T w, T) { return quotient(v, w); });
      case op::divide_into: return each([&](T v, T w, T) { return quotient(w, v); });
      case op::equal: return each([](T v, T w, T) { return v == w; });
      case op::greater: return each([](T v, T w, T) { return v > w; });
      case op::greater_equal: return each([](T v, T w, T) { return v >= w; });
      case op::less: return each([](T v, T w, T) { return v < w; });
      case op::less_equal: return each([](T v, T w, T) { return v <= w; });
      case op::logical_not: return each([](T v, T, T) { return v == T{}; });
      case op::truth: return each([](T v, T, T) { return v != T{}; });
      case op::choose: return each([](T v, T w, T o) { return v != T{} ? w : o; });
      case op::choose_true: return each([](T v, T w, T o) { return w != T{} ? v : o; });
      case op::choose_false: return each([](T v, T w, T o) { return w != T{} ? o : v; });
      default:
        if constexpr (real) {
          TROUPE_UNROLL for (uint32_t j = 0; j < Width; ++j) x[j] = function(i, x[j], a[j]);
        }
    }
  }

  /// Computes signed integers as unsigned, so that they wrap around.
  template <class F>
  TROUPE_DEVICE static T wrapped(T a, T b, F f) {
    if constexpr (real)
      return f(a, b);
    else
      return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
  TROUPE_DEVICE T quotient(T a, T b) const {
    if constexpr (real) {
      return a / b;
    } else {
      if (b == 0) {
        found(0);
        return 0;
      }
      return b == static_cast<T>(-1) ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a)) : a / b;
    }
  }
  TROUPE_DEVICE void found(int64_t value) const { fault->value = value, fault->found = 1; }

  TROUPE_DEVICE T function(const pointwise_instruction& i, T x, T a) const {
    using op = pointwise_op;
    const T p = static_cast<T>(i.p), q = static_cast<T>(i.q);
    switch (i.op) {
      case op::power: return power_(x, a);
      case op::power_of: return power_(a, x);
      case op::power_int: {
        const T y = static_cast<T>(integer_power(x, a));
        if (!((y < 0 ? -y : y) < p)) found(0);
        return y;
      }
      case op::relu: return x < 0 ? 0 : x;  // keeps a NaN
      case op::leaky_relu: return x < 0 ? p * x : x;
      case op::clip: return x < p ? p : x > q ? q : x;
      case op::hard_sigmoid: return within_one(p * x + q);
      case op::hard_swish: return x * within_one(x / 6 + T{0.5});
      case op::sigmoid: return 1 / (1 + exp_(-x));
      case op::tanh:
        if constexpr (std::is_same_v<T, float>) return tanhf(x);
        return ::tanh(x);
      case op::erf:
        if constexpr (std::is_same_v<T, float>) return erff(x);
        return ::erf(x);
      case op::exp: return exp_(x);
      case op::sqrt:
        if constexpr (std::is_same_v<T, float>) return sqrtf(x);
        return ::sqrt(x);
      default: return x;
    }
  }
  TROUPE_DEVICE static T within_one(T x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
  TROUPE_DEVICE static T exp_(T x) {
    if constexpr (std::is_same_v<T, float>) return expf(x);
    return ::exp(x);
  }
  TROUPE_DEVICE static T power_(T x, T y) {
    if constexpr (std::is_same_v<T, float>) return powf(x, y);
    return ::pow(x, y);
  }
};

}  // namespace troupe::cuda
