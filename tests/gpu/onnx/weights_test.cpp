#include "gpu/onnx/weights.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "gpu/common/model_error.hpp"
#include "tests/gpu/onnx/fixtures.hpp"

using namespace troupe;
using namespace troupe::onnx;

TEST_CASE("layers become ready one by one, in any order") {
  const auto m = model::load(fixture_path("mlp"));
  weights w(m->layers());
  const auto p = w.plain({1, 0});
  CHECK(*p == nullptr);
  CHECK_FALSE(w.ready(1, 2));
  w.load_layer(1, m->parameters(1));
  CHECK(*p == m->parameters(1)->data());
  CHECK(w.ready(1, 2));
  CHECK_FALSE(w.ready(0, 2));
  w.load_layer(1, m->parameters(1));
  w.load_layer(0, m->parameters(0));
  CHECK(w.ready(0, 2));
}

TEST_CASE("a layout is packed once, requested before or after its layer is loaded") {
  const auto m = model::load(fixture_path("mlp"));
  weights w(m->layers());
  const auto f32 = dnnl::memory::data_type::f32;
  const auto& dims = m->layers()[0].parameters[0].dims;
  const dnnl::memory::desc rows(dims, f32, dnnl::memory::format_tag::ab),
      columns(dims, f32, dnnl::memory::format_tag::ba);
  const auto before = w.packed({0, 0}, rows, columns);
  CHECK(*before == nullptr);
  w.load_layer(0, m->parameters(0));
  REQUIRE(*before != nullptr);
  CHECK(w.packed({0, 0}, rows, columns) == before);
  CHECK(w.packed({0, 0}, rows, rows) == w.plain({0, 0}));
  CHECK(w.packed_bytes() == columns.get_size());
  const auto* plain = reinterpret_cast<const float*>(*w.plain({0, 0}));
  const auto* packed = reinterpret_cast<const float*>(*before);
  CHECK(packed[dims[0] * 3 + 2] == plain[dims[1] * 2 + 3]);
}

TEST_CASE("a blob of another layer, or a damaged one, is refused") {
  const auto m = model::load(fixture_path("mlp"));
  weights w(m->layers());
  CHECK_THROWS_AS(w.load_layer(0, m->parameters(1)), model_error);
  auto damaged = std::make_shared<aligned_bytes>(m->parameters(0)->size());
  std::memcpy(damaged->data(), m->parameters(0)->data(), damaged->size());
  damaged->data()[17] ^= std::byte{1};
  CHECK_THROWS_AS(w.load_layer(0, damaged), model_error);
  CHECK_FALSE(w.ready(0, 1));
}
