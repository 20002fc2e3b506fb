// A model's parameters on an emulated machine.
#include "gpu/onnx/cuda/tensor_weights.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#include "tests/gpu/onnx/cuda/programs.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

onnx::tensor counted(const onnx::shape& dims, float first = 0) {
  std::vector<float> numbers(static_cast<size_t>(onnx::element_count(dims)));
  std::iota(numbers.begin(), numbers.end(), first);
  return onnx::floats(dims, numbers);
}

/// Of one convolution.
onnx::model convolution(const onnx::shape& in, const onnx::shape& w) {
  return onnx::model(onnx::make_graph(in, {node("Conv", {"x", "w"}, "y")}, {"y"}, {{"w", counted(w)}}));
}

std::vector<float> numbers_at(const std::byte* at, size_t count) {
  std::vector<float> numbers(count);
  std::memcpy(numbers.data(), at, count * sizeof(float));
  return numbers;
}

}  // namespace

TEST_CASE("tensor weights: every parameter of every layer is found") {
  const onnx::model m(onnx::make_graph(
      {4},
      {node("MatMul", {"x", "v"}, "p"), node("Add", {"p", "b"}, "q"), node("Relu", {"q"}, "r"),
       node("MatMul", {"r", "w"}, "y")},
      {"y"}, {{"v", counted({4, 3})}, {"b", counted({3}, 100)}, {"w", counted({3, 2}, 200)}}));
  REQUIRE(m.layers().size() == 2);
  emulated_machine machine;
  const tensor_weights w(machine, m);
  CHECK(numbers_at(w.parameter(0, 0), 3) == std::vector<float>{0, 1, 2});
  CHECK(numbers_at(w.parameter(0, 1), 3) == std::vector<float>{100, 101, 102});
  CHECK(numbers_at(w.parameter(1, 0), 3) == std::vector<float>{200, 201, 202});
  CHECK(w.bytes() == m.layers()[0].bytes + m.layers()[1].bytes);
}

TEST_CASE("tensor weights: a model need not have parameters") {
  const onnx::model m(onnx::make_graph({4}, {node("Relu", {"x"}, "y")}, {"y"}));
  emulated_machine machine;
  CHECK(tensor_weights(machine, m).bytes() == 0);
}

TEST_CASE("tensor weights: filters have their second dimension last, for any kernel dimensions") {
  for (const onnx::shape& kernel : {onnx::shape{3}, {2, 3}, {2, 3, 2}, {1, 1}}) {
    for (const int64_t second : {1, 4}) {
      const auto dims = onnx::joined(onnx::shape{2, second}, kernel);
      const auto m = convolution(onnx::joined(onnx::shape{second}, onnx::shape(kernel.size(), 3)), dims);
      emulated_machine machine;
      tensor_weights w(machine, m);
      const auto turned = onnx::joined(onnx::joined(onnx::shape{2}, kernel), onnx::shape{second});
      const auto made = numbers_at(w.filters(0, 0), static_cast<size_t>(onnx::element_count(dims)));
      int wrong = 0;
      for (const auto& at : onnx::indices_of(dims)) {
        onnx::shape there{at[0]};
        there.insert(there.end(), at.begin() + 2, at.end());
        there.push_back(at[1]);
        wrong += made[onnx::offset_of(turned, there)] != static_cast<float>(onnx::offset_of(dims, at));
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("tensor weights: filters are made on first use, once, beside the parameter") {
  const auto m = convolution({4, 3, 3}, {2, 4, 2, 3});
  emulated_machine machine;
  tensor_weights w(machine, m);
  const auto before = w.bytes();
  const auto* made = w.filters(0, 0);
  CHECK(w.bytes() == before + 2 * 4 * 2 * 3 * sizeof(float));
  CHECK(w.filters(0, 0) == made);
  CHECK(w.bytes() == before + 2 * 4 * 2 * 3 * sizeof(float));
  CHECK(numbers_at(w.parameter(0, 0), 3) == std::vector<float>{0, 1, 2});
}

TEST_CASE("tensor weights: dropped filters free their memory, and can be made again") {
  const auto m = convolution({4, 3, 3}, {2, 4, 2, 3});
  emulated_machine machine;
  tensor_weights w(machine, m);
  const auto before = w.bytes();
  const auto made = numbers_at(w.filters(0, 0), 48);
  w.drop_filters();
  CHECK(w.bytes() == before);
  CHECK(numbers_at(w.filters(0, 0), 48) == made);
}
