#include "gpu/kernels/cuda/pointwise_kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

using op = pointwise_op;

/// Chains of 1, 2 or 3 operands [rows, columns]; the second is broadcast along the rows, the third along all.
template <class T, uint32_t Width, class Stored>
struct chain {
  chain(uint32_t rows, uint32_t columns, const std::vector<Stored>& x, const std::vector<Stored>& a,
        const std::vector<Stored>& b)
      : out(size_t{rows} * columns), fault(1), x_(x), a_(a), b_(b) {
    fault[0] = {};
    k.walk.dims = 2, k.walk.extent[0] = rows, k.walk.extent[1] = columns, k.count = rows * columns;
    k.operands = 3;
    const shared_array<Stored>* in[] = {&x_, &a_, &b_};
    for (uint32_t i = 0; i < 3; ++i) k.in[i].data = in[i]->data(), k.in[i].type = type_of();
    k.in[0].steps = {{columns, 1}}, k.in[1].steps = {{0, 1}};
    k.in[0].wide = k.in[1].wide = Width == 4;
    k.type = type_of(), k.out = out.data(), k.fault = fault.data();
  }
  static constexpr data_type type_of() {
    return std::is_same_v<Stored, float>     ? data_type::fp32
           : std::is_same_v<Stored, double>  ? data_type::fp64
           : std::is_same_v<Stored, int32_t> ? data_type::int32
                                             : data_type::int64;
  }
  void then(pointwise_instruction i) { k.instruction[k.instructions++] = i; }
  void run() {
    run_kernel(k, k.grid(), k.count);
    CHECK(out.intact());
  }

  pointwise_kernel<T, Width> k;
  shared_array<Stored> out;
  shared_array<kernel_fault> fault;

 private:
  shared_array<Stored> x_, a_, b_;
};

std::vector<float> floats(size_t n, uint32_t seed, float low = -3, float high = 3) {
  std::mt19937 random(seed);
  std::vector<float> v(n);
  for (auto& f : v) f = low + (high - low) * static_cast<float>(random() % 10000) / 10000;
  return v;
}

/// One instruction on random numbers, four at once and alone.
void check_op(pointwise_instruction i, const std::function<double(double, double, double)>& expected,
              float low = -3) {
  CAPTURE(static_cast<int>(i.op));
  constexpr uint32_t rows = 3, columns = 100, seed = 1;
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(low);
  CAPTURE(seed);
  const auto x = floats(rows * columns, seed, low), a = floats(columns, seed + 1, low);
  const std::vector<float> b{0.75F};
  i.a = 1, i.b = 2;
  const auto check = [&](auto& c) {
    c.then(i);
    c.run();
    wrong_elements wrong;
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t k = 0; k < columns; ++k) {
        const double wanted = expected(x[r * columns + k], a[k], b[0]);
        const size_t at = r * columns + k;
        wrong.check(std::abs(c.out[at] - wanted) <= 2e-6 + std::abs(wanted) * 2e-6, at, wanted, c.out[at]);
      }
    CHECK(wrong == 0);
  };
  chain<float, 4, float> four(rows, columns, x, a, b);
  check(four);
  chain<float, 1, float> one(rows, columns, x, a, b);
  check(one);
  CHECK(differences(four.out, one.out) == 0);
}

}  // namespace

TEST_CASE("pointwise kernel: operations of two tensors, one of them broadcast") {
  check_op({op::add}, [](double x, double a, double) { return x + a; });
  check_op({op::subtract}, [](double x, double a, double) { return x - a; });
  check_op({op::subtract_from}, [](double x, double a, double) { return a - x; });
  check_op({op::multiply}, [](double x, double a, double) { return x * a; });
  check_op(
      {op::divide}, [](double x, double a, double) { return x / a; }, 0.5F);
  check_op(
      {op::divide_into}, [](double x, double a, double) { return a / x; }, 0.5F);
  check_op(
      {op::power}, [](double x, double a, double) { return std::pow(x, a); }, 0.1F);
  check_op(
      {op::power_of}, [](double x, double a, double) { return std::pow(a, x); }, 0.1F);
  check_op({op::equal}, [](double x, double a, double) { return x == a; });
  check_op({op::greater}, [](double x, double a, double) { return x > a; });
  check_op({op::greater_equal}, [](double x, double a, double) { return x >= a; });
  check_op({op::less}, [](double x, double a, double) { return x < a; });
  check_op({op::less_equal}, [](double x, double a, double) { return x <= a; });
}

TEST_CASE("pointwise kernel: functions of one tensor") {
  check_op({op::relu}, [](double x, double, double) { return std::max(x, 0.0); });
  check_op({op::leaky_relu, 0, 0, 0.125}, [](double x, double, double) { return x < 0 ? x / 8 : x; });
  check_op({op::clip, 0, 0, -1, 2}, [](double x, double, double) { return std::clamp(x, -1.0, 2.0); });
  check_op({op::hard_sigmoid, 0, 0, 0.25, 0.5},
           [](double x, double, double) { return std::clamp(x / 4 + 0.5, 0.0, 1.0); });
  check_op({op::hard_swish}, [](double x, double, double) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
  check_op({op::sigmoid}, [](double x, double, double) { return 1 / (1 + std::exp(-x)); });
  check_op({op::tanh}, [](double x, double, double) { return std::tanh(x); });
  check_op({op::erf}, [](double x, double, double) { return std::erf(x); });
  check_op({op::exp}, [](double x, double, double) { return std::exp(x); });
  check_op(
      {op::sqrt}, [](double x, double, double) { return std::sqrt(x); }, 0);
  check_op({op::truth}, [](double x, double, double) { return x != 0; });
  check_op({op::logical_not}, [](double x, double, double) { return x == 0; });
}

TEST_CASE("pointwise kernel: a condition selects between values") {
  check_op({op::choose}, [](double x, double a, double b) { return x != 0 ? a : b; });
  check_op({op::choose_true}, [](double x, double a, double b) { return a != 0 ? x : b; });
  check_op({op::choose_false}, [](double x, double a, double b) { return a != 0 ? b : x; });
}

TEST_CASE("pointwise kernel: each instruction of a chain uses the result of the previous one") {
  const auto x = floats(32, 5), a = floats(8, 6);
  chain<float, 4, float> c(4, 8, x, a, {2});
  c.then({op::multiply, 1, 0}), c.then({op::add, 2, 0}), c.then({op::relu}), c.then({op::subtract, 0, 0});
  c.run();
  for (uint32_t i = 0; i < 32; ++i)
    CHECK(c.out[i] == doctest::Approx(std::max(x[i] * a[i % 8] + 2, 0.0F) - x[i]));
}

TEST_CASE("pointwise kernel: integers wrap around, and a division by zero is a fault") {
  const int64_t max = std::numeric_limits<int64_t>::max();
  chain<int64_t, 1, int64_t> sum(1, 2, {max, 5}, {1, -7}, {0});
  sum.then({op::add, 1});
  sum.run();
  CHECK(sum.out.values() == std::vector<int64_t>{std::numeric_limits<int64_t>::min(), -2});
  chain<int64_t, 1, int32_t> quotient(1, 3, {-7, std::numeric_limits<int32_t>::min(), 9}, {2, -1, 3}, {0});
  quotient.then({op::divide, 1});
  quotient.run();
  CHECK(quotient.out.values() == std::vector<int32_t>{-3, std::numeric_limits<int32_t>::min(), 3});
  CHECK(quotient.fault[0].found == 0);
  chain<int64_t, 1, int32_t> zero(1, 2, {1, 1}, {1, 0}, {0});
  zero.then({op::divide, 1});
  zero.run();
  CHECK(zero.fault[0].found == 1);
}

TEST_CASE("pointwise kernel: integer powers are exact within the type, and give a fault beyond it") {
  // a GPU's pow is too small for some of these
  chain<double, 1, int32_t> p(1, 7, {3, 10, 3, -3, 2, 53, 19}, {4, 9, 1, 1, 11, 2, 3}, {0});
  p.then({op::power_int, 1, 0, 0x1p31});
  p.run();
  CHECK(p.out.values() == std::vector<int32_t>{81, 1000000000, 3, -3, 2048, 2809, 6859});
  CHECK(p.fault[0].found == 0);
  chain<double, 1, int64_t> wide(1, 2, {7, -3}, {18, 33}, {0});
  wide.then({op::power_int, 1, 0, 0x1p63});
  wide.run();
  CHECK(wide.out.values() == std::vector<int64_t>{1628413597910449, -5559060566555523});
  CHECK(wide.fault[0].found == 0);
  for (const auto& [x, y] : {std::pair{-2, 31}, {0, -1}}) {
    chain<double, 1, int32_t> beyond(1, 1, {x}, {y}, {0});
    beyond.then({op::power_int, 1, 0, 0x1p31});
    beyond.run();
    CHECK(beyond.fault[0].found == 1);  // the magnitude of -2^31 does not fit the type
  }
}

TEST_CASE("pointwise kernel: floats are converted to every output type") {
  const float numbers[] = {-3.7F, 0, 0.5F, 300, 5e9F, NAN};
  shared_array<float> x(std::vector<float>(std::begin(numbers), std::end(numbers)));
  const auto cast = [&]<class To>(To, data_type type) {
    shared_array<To> y(x.size());
    pointwise_kernel<float, 1> k;
    k.walk.extent[0] = k.count = static_cast<uint32_t>(x.size()), k.operands = 1;
    k.in[0].data = x.data(), k.in[0].steps = {{1}};
    k.type = type, k.out = y.data();
    run_kernel(k, k.grid());
    CHECK(y.intact());
    return y.values();
  };
  CHECK(cast(uint8_t{}, data_type::boolean) == std::vector<uint8_t>{1, 0, 1, 1, 1, 1});
  CHECK(cast(uint8_t{}, data_type::uint8) == std::vector<uint8_t>{0, 0, 0, 255, 255, 0});
  CHECK(cast(int8_t{}, data_type::int8) == std::vector<int8_t>{-3, 0, 0, 127, 127, 0});
  CHECK(cast(int32_t{}, data_type::int32) == std::vector<int32_t>{-3, 0, 0, 300, 2147483647, 0});
  CHECK(cast(int64_t{}, data_type::int64) == std::vector<int64_t>{-3, 0, 0, 300, 5000000000, 0});
  const auto halves = cast(uint16_t{}, data_type::fp16);
  CHECK(halves[3] == troupe::half(300.0F).bits);
  CHECK(cast(uint16_t{}, data_type::bf16)[0] == troupe::bfloat(-3.7F).bits);
}
