#include "gpu/onnx/memory_layout.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace troupe::onnx;

TEST_CASE("buffers with overlapping lifetimes do not share memory, and others do") {
  std::mt19937 random(51);
  for (int round = 0; round < 50; ++round) {
    std::deque<buffer> buffers;
    for (size_t i = 0; i < 40; ++i) {
      const size_t first = random() % 30;
      buffers.push_back(
          {1 + random() % 1000, first, i % 10 == 0 ? SIZE_MAX : first + random() % 5, 0, nullptr});
    }
    const size_t total = lay_out(buffers);
    size_t sum = 0;
    for (const auto& a : buffers) {
      sum += (a.size + 63) / 64 * 64;
      CHECK(a.offset % 64 == 0);
      CHECK(a.offset + a.size <= total);
      for (const auto& b : buffers) {
        const bool together = &a != &b && a.first <= b.last && b.first <= a.last;
        const bool overlap = a.offset < b.offset + b.size && b.offset < a.offset + a.size;
        CHECK_FALSE((together && overlap));
      }
    }
    CHECK(total < sum);
  }
}

TEST_CASE("a chain of equal buffers takes the memory of two") {
  std::deque<buffer> chain;
  for (size_t i = 0; i < 10; ++i) chain.push_back({256, i, i + 1, 0, nullptr});
  CHECK(lay_out(chain) == 512);
}

TEST_CASE("a layout is row-major for any strides of dimensions of one") {
  using tag = dnnl::memory::format_tag;
  const auto layout = [](const shape& dims, tag t) {
    return dnnl::memory::desc(dims, dnnl::memory::data_type::f32, t);
  };
  CHECK(is_row_major(plain_layout({2, 3, 4, 5})));
  CHECK(is_row_major(plain_layout({})));
  CHECK_FALSE(is_row_major(layout({2, 3, 4, 5}, tag::acdb)));
  CHECK(is_row_major(layout({2, 3, 1, 1}, tag::acdb)));
  CHECK(is_row_major(layout({2, 1, 4, 5}, tag::acdb)));
  CHECK_FALSE(is_row_major(layout({2, 16, 4, 5}, tag::aBcd16b)));
  CHECK_FALSE(is_row_major(layout({2, 3, 1, 1}, tag::aBcd16b)));
}
