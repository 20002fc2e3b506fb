#include "gpu/onnx/executor.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/weights.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

TEST_CASE("every fixture gives its golden outputs at batch sizes 1, 3 and its own") {
  for (const auto& name : fixture_names) {
    CAPTURE(name);
    const fixture f(name);
    executor e(f.loaded, load_weights(*f.loaded));
    for (const uint32_t rows : {1U, 3U, f.rows}) {
      CAPTURE(rows);
      CHECK(relative_l2(run_rows(e, f, rows), f.output_rows(rows)) < 1e-4);
    }
  }
}

// oneDNN's kernels for AVX-512 sum in an order that does not depend on the batch; those for older CPUs do not
// promise it.
TEST_CASE(
    "a row's output does not depend on the batch: not in a bit with AVX-512, else not beyond rounding") {
  const bool to_the_bit = __builtin_cpu_supports("avx512f") != 0;
  for (const auto& name : fixture_names) {
    CAPTURE(name);
    const fixture f(name);
    executor e(f.loaded, load_weights(*f.loaded));
    const auto alone = run_rows(e, f, 1);
    for (const uint32_t rows : {2U, 3U, 4U, 7U, 8U, 13U, 16U, 32U}) {
      CAPTURE(rows);
      const auto batch = run_rows(e, f, rows);
      if (to_the_bit)
        CHECK(std::memcmp(alone.data(), batch.data(), f.output_row) == 0);
      else
        CHECK(relative_l2(std::vector(batch.begin(), batch.begin() + static_cast<int64_t>(alone.size())),
                          alone) < 1e-6);
    }
  }
}

TEST_CASE("each part of a batch gets its own rows") {
  const fixture f("encoder");
  executor e(f.loaded, load_weights(*f.loaded));
  const auto whole = run_rows(e, f, 5);
  const auto in = f.input_rows(5);
  std::vector<float> first(2 * f.output_row / 4), second(3 * f.output_row / 4);
  const std::vector<batch_part> parts{
      {2, std::span{in}.first(2 * f.input_row), std::as_writable_bytes(std::span{first})},
      {3, std::span{in}.subspan(2 * f.input_row), std::as_writable_bytes(std::span{second})}};
  e.run(5, parts);
  first.insert(first.end(), second.begin(), second.end());
  CHECK(first == whole);
}

TEST_CASE("running the layers on two executors gives the same bytes as on one") {
  for (const auto& name : fixture_names) {
    CAPTURE(name);
    const fixture f(name);
    const size_t n = f.loaded->layers().size();
    CHECK(n >= 3);
    auto shared = load_weights(*f.loaded);
    executor here(f.loaded, shared), there(f.loaded, shared);
    auto dims = f.loaded->signature().inputs[0].shape;
    dims.insert(dims.begin(), f.rows);
    const activation in{make_tensor(f.loaded->signature().inputs[0].type, dims, f.input)};
    const auto whole = run_rows(here, f, f.rows);
    for (size_t k = 0; k <= n; ++k) {
      CAPTURE(k);
      const auto out = there.run({k, n}, here.run({0, k}, in));
      REQUIRE(out.size() == 1);
      CHECK(std::memcmp(out[0].data->data(), whole.data(), out[0].bytes()) == 0);
    }
  }
}

TEST_CASE("layers run as soon as they are loaded, and report an error before that") {
  const fixture f("resnet_a");
  const size_t n = f.loaded->layers().size();
  auto loading = std::make_shared<weights>(f.loaded->layers());
  executor e(f.loaded, loading);
  e.warm(f.rows);  // plans do not need the weights
  auto dims = f.loaded->signature().inputs[0].shape;
  dims.insert(dims.begin(), f.rows);
  activation at{make_tensor(data_type::fp32, dims, f.input)};
  for (size_t i = 0; i < n; ++i) {
    CHECK_THROWS_AS(e.run({i, i + 1}, at), model_error);
    loading->load_layer(i, f.loaded->parameters(i));
    at = e.run({i, i + 1}, at);
  }
  const auto out = at[0].as<float>();
  CHECK(relative_l2({out.begin(), out.end()}, f.output_rows(f.rows)) < 1e-4);
}

TEST_CASE("executors in several threads share weights") {
  const fixture f("inception");
  auto shared = load_weights(*f.loaded);
  executor reference(f.loaded, shared);
  const auto expected = run_rows(reference, f, 4);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      executor e(f.loaded, shared);
      for (int i = 0; i < 20; ++i) wrong += run_rows(e, f, 4) != expected;
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("plans beyond the limit are dropped and made again") {
  const fixture f("mlp");
  executor e(f.loaded, load_weights(*f.loaded), 2);
  for (const uint32_t rows : {1U, 2U, 3U, 1U, 2U, 1U}) {
    CHECK(relative_l2(run_rows(e, f, rows), f.output_rows(rows)) < 1e-4);
    CHECK(e.plans() <= 2);
  }
}

TEST_CASE("a batch size that changes an output's rows or columns is refused") {
  // y = x[0:end] along an axis
  const auto sliced = [](const std::string& axis, const std::string& end) {
    return std::make_shared<const model>(
        make_graph({8},
                   {{"s", "Shape", {"x"}, {"dims"}, {}},
                    {"g", "Gather", {"dims", "zero"}, {"rows"}, {}},
                    {"c", "Slice", {"x", "zero", end, axis}, {"y"}, {}}},
                   {"y"}, {{"zero", ints({1}, {0})}, {"one", ints({1}, {1})}, {"three", ints({1}, {3})}}));
  };
  const auto first_rows = sliced("zero", "three"), as_wide_as_long = sliced("one", "rows");
  executor e(first_rows, load_weights(*first_rows)), f(as_wide_as_long, load_weights(*as_wide_as_long));
  for (const uint32_t rows : {1U, 2U, 3U}) e.warm(rows);
  const std::vector<float> in(8 * 64, 1);
  std::vector<float> out(8 * 64);
  const batch_part part{64, std::as_bytes(std::span{in}), std::as_writable_bytes(std::span{out})};
  CHECK_THROWS_WITH_AS(
      e.run(64, {&part, 1}),
      "test: output 'y' has shape [3, 8] for a batch of 64: its leading dimension must be the "
      "batch, and the others the same for every batch",
      model_error);
  CHECK_THROWS_AS(e.warm(4), model_error);
  f.warm(3);
  CHECK_THROWS_AS(f.warm(2), model_error);
}

TEST_CASE("a batch with wrong sizes, or with an index out of range, is refused") {
  const fixture f("encoder");
  executor e(f.loaded, load_weights(*f.loaded));
  auto in = f.input_rows(1);
  std::vector<std::byte> out(f.output_row);
  const auto run = [&](uint32_t rows, batch_part part) { e.run(rows, {&part, 1}); };
  CHECK_THROWS_AS(run(2, {1, in, out}), model_error);
  CHECK_THROWS_AS(run(1, {1, std::span{in}.first(8), out}), model_error);
  CHECK_THROWS_AS(run(0, {0, {}, {}}), model_error);
  const int64_t token = 1'000'000;
  std::memcpy(in.data(), &token, sizeof token);
  CHECK_THROWS_WITH_AS(run(1, {1, in, out}), "node '/e/Gather' (Gather): index 1000000 is not in -200..199",
                       model_error);
  in = f.input_rows(1);
  run(1, {1, in, out});  // the executor continues
}
