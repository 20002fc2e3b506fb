#include "gpu/onnx/operators/strided_copy.hpp"

#include <doctest/doctest.h>

#include <random>

#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

/// The same, element by element.
template <class T>
void copy_plainly(const shape& dims, const strided_copy::side& from, const strided_copy::side& to,
                  const T* in, T* out) {
  for (const auto& index : indices_of(dims)) {
    int64_t a = from.first, b = to.first;
    for (size_t d = 0; d < dims.size(); ++d) {
      a += index[d] * from.steps[d];
      b += index[d] * to.steps[d];
    }
    out[b] = in[a];
  }
}

template <class T>
void check(const shape& dims, const strided_copy::side& from, const strided_copy::side& to) {
  std::vector<T> in(256), got(256, 0), expected(256, 0);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(i + 1);
  strided_copy(dims, from, to, sizeof(T))(reinterpret_cast<const std::byte*>(in.data()),
                                          reinterpret_cast<std::byte*>(got.data()));
  copy_plainly(dims, from, to, in.data(), expected.data());
  CHECK(got == expected);
}

}  // namespace

TEST_CASE("a box is copied transposed, broadcast, reversed and sliced, for every element size") {
  const shape dims{3, 4, 5};
  const auto whole = strides_of(dims);
  const std::vector<strided_copy::side> sources{{whole, 0},      {whole, 7},     {{1, 3, 12}, 0},
                                                {{0, 5, 1}, 0},  {{0, 0, 0}, 9}, {{-20, -5, -1}, 59},
                                                {{40, 10, 2}, 1}};
  const std::vector<strided_copy::side> targets{
      {whole, 0}, {{48, 8, 1}, 3}, {{20, 5, 1}, 100}, {{1, 3, 12}, 0}};
  for (const auto& from : sources) {
    for (const auto& to : targets) {
      check<uint8_t>(dims, from, to);
      check<uint16_t>(dims, from, to);
      check<float>(dims, from, to);
      check<int64_t>(dims, from, to);
    }
  }
}

TEST_CASE("a copy without dimensions has one element, and with an empty dimension none") {
  check<float>({}, {{}, 4}, {{}, 6});
  check<float>({1, 1}, {{9, 9}, 4}, {{7, 7}, 6});
  check<float>({2, 0, 3}, {{3, 3, 1}, 0}, {{3, 3, 1}, 0});
}
