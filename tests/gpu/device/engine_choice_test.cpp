#include "gpu/device/engine_choice.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "gpu/common/model_error.hpp"
#include "messages/tensor/shaped_tensors.hpp"
#include "tests/gpu/onnx/fixtures.hpp"

using namespace troupe;

namespace {

model_source source_of(const std::string& name, model_engine engine) {
  model_source s;
  s.name = name;
  s.path = onnx::fixture_path(name);
  s.engine = engine;
  s.max_batch = 8;
  return s;
}

std::vector<float> outputs(batch_model& m, const onnx::fixture& f, uint32_t rows) {
  const auto input = f.input_rows(rows);
  std::vector<float> out(rows * f.output_row / sizeof(float));
  const batch_part part{rows, input, std::as_writable_bytes(std::span{out})};
  CHECK(m.run(rows, {&part, 1}, nullptr));
  return out;
}

}  // namespace

TEST_CASE("engine choice: a model that the native engine runs is the native engine's") {
  const auto load = on_chosen_engine();
  const auto chosen = load(source_of("resnet_a", model_engine::automatic));
  const auto native = load(source_of("resnet_a", model_engine::native));
  CHECK(chosen->layers() == native->layers());
  CHECK(chosen->layers() > 1);
  const onnx::fixture f("resnet_a");
  CHECK(outputs(*chosen, f, 3) == outputs(*native, f, 3));
}

TEST_CASE("engine choice: shapes of rows are for both engines, whole shapes and constants for OpenVINO") {
  auto s = source_of("mlp", model_engine::native);
  s.shapes = {{"input", onnx::fixture("mlp").loaded->signature().inputs[0].shape}};
  CHECK(choose_engine(s) == model_engine::native);
  s.shapes[0].dims.push_back(1);
  CHECK_THROWS_WITH_AS(on_chosen_engine()(s), doctest::Contains("a row of it cannot be"), model_error);
  s.shapes[0].name = "other";
  CHECK_THROWS_WITH_AS(on_chosen_engine()(s), doctest::Contains("has no input 'other'"), model_error);
  s.shapes = {{"input", {1, 64}}};
  s.batched = false;
  CHECK_THROWS_WITH_AS(
      on_chosen_engine()(s),
      (s.path +
       ": models without batches, any_shape, and constants of inputs need the engine openvino, or auto")
          .c_str(),
      model_error);
}

TEST_CASE("engine choice: an engine that was decided before is taken, and a failure says so") {
  auto s = source_of("mlp", model_engine::automatic);
  CHECK(decide_engine(s) == model_engine::native);
  s.decided_engine = model_engine::native;
  CHECK(choose_engine(s) == model_engine::native);
  CHECK(on_chosen_engine()(s)->layers() > 1);
  s.path = onnx::fixture_path("mlp") + ".missing";
  CHECK_THROWS_WITH_AS(on_chosen_engine()(s), doctest::Contains("No such file"), unreadable_model);

  s = source_of("mlp", model_engine::automatic);
  s.batched = false;
  s.shapes = {{"input", {1, 64}}};
  CHECK(decide_engine(s) == model_engine::openvino);
  s.batched = true;
  s.shapes = {{"other", {64}}};  // as if the file of the node that decided had it
  CHECK(decide_engine(s) == model_engine::openvino);
  s.decided_engine = model_engine::native;
  CHECK_THROWS_WITH_AS(on_chosen_engine()(s),
                       doctest::Contains("the deployment log has the engine native for it, and this node "
                                         "would choose openvino: start all nodes from the same build"),
                       model_error);
}

#ifdef TROUPE_OPENVINO
TEST_CASE("engine choice: OpenVINO runs a model that was decided to be its own") {
  auto s = source_of("mlp", model_engine::automatic);
  s.decided_engine = model_engine::openvino;
  CHECK(choose_engine(s) == model_engine::openvino);
  CHECK(on_chosen_engine()(s)->layers() == 1);
}

TEST_CASE("openvino: all fixtures give their golden outputs, at every batch size, in one model") {
  for (const auto& name : onnx::fixture_names) {
    CAPTURE(name);
    const onnx::fixture f(name);
    const auto m = on_chosen_engine()(source_of(name, model_engine::openvino));
    CHECK(m->signature() == f.loaded->signature());
    CHECK(m->memory_bytes() > 0);
    m->warm(4);
    for (const uint32_t rows : {1U, 3U, f.rows, 2U}) {
      CAPTURE(rows);
      CHECK(onnx::relative_l2(outputs(*m, f, rows), f.output_rows(rows)) < 1e-4);
    }
  }
}

TEST_CASE("openvino: integers that need more than 32 bits are refused") {
  const onnx::fixture f("encoder");
  const auto m = on_chosen_engine()(source_of("encoder", model_engine::openvino));
  const int64_t large[] = {1, 2, int64_t{1} << 40, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  std::vector<std::byte> output(output_row_bytes(m->signature()));
  const batch_part part{1, std::as_bytes(std::span{large}), output};
  CHECK_THROWS_WITH_AS(m->run(1, {&part, 1}, nullptr),
                       doctest::Contains("1099511627776: OpenVINO computes integers"), model_error);
}

TEST_CASE("openvino: the parts of a batch get their own rows") {
  const onnx::fixture f("encoder");
  const auto m = on_chosen_engine()(source_of("encoder", model_engine::openvino));
  const auto all = f.input_rows(3);
  const auto row = all.size() / 3;
  std::vector<float> first(f.output_row / sizeof(float)), others(2 * first.size());
  const std::span<const std::byte> bytes = all;
  const batch_part parts[] = {{1, bytes.first(row), std::as_writable_bytes(std::span{first})},
                              {2, bytes.subspan(row), std::as_writable_bytes(std::span{others})}};
  CHECK(m->run(3, parts, nullptr));
  first.insert(first.end(), others.begin(), others.end());
  CHECK(onnx::relative_l2(first, f.output_rows(3)) < 1e-4);
}

TEST_CASE("openvino: with whole shapes a model has no batches") {
  const onnx::fixture f("mlp");
  auto s = source_of("mlp", model_engine::automatic);
  s.shapes = {{"input", {3, 64}}};
  s.batched = false;
  const auto m = on_chosen_engine()(s);
  REQUIRE(m->signature().inputs.size() == 1);
  CHECK(m->signature().inputs[0].shape == std::vector<int64_t>{3, 64});
  CHECK(m->signature().outputs[0].shape == std::vector<int64_t>{3, 16});
  const auto input = f.input_rows(3);
  std::vector<float> out(3 * 16);
  const batch_part part{1, input, std::as_writable_bytes(std::span{out})};
  CHECK(m->run(1, {&part, 1}, nullptr));
  CHECK(onnx::relative_l2(out, f.output_rows(3)) < 1e-4);
  const batch_part twice[] = {part, part};
  CHECK_THROWS_AS(m->run(2, twice, nullptr), model_error);
}

TEST_CASE("openvino: a model of any shape takes inputs with their shapes, and answers so") {
  const onnx::fixture f("mlp");
  auto s = source_of("mlp", model_engine::automatic);
  s.batched = false;
  s.any_shape = true;
  s.max_batch = 1;
  const auto m = on_chosen_engine()(s);
  REQUIRE(has_free_dimension(m->signature()));
  CHECK(m->signature().inputs[0].shape.front() == -1);
  const auto expected = on_chosen_engine()(source_of("mlp", model_engine::openvino));
  for (const uint32_t rows : {3u, 1u}) {
    auto given = m->signature().inputs;
    given[0].shape[0] = rows;
    const auto values = f.input_rows(rows);
    std::vector<std::byte> input(shapes_bytes(given) + values.size()), output;
    std::ranges::copy(values, write_shapes(given, input).begin());
    const batch_part part{.input = input, .output = {}, .shaped_output = &output};
    REQUIRE(m->run(1, {&part, 1}, nullptr));
    const auto answer = read_shapes(m->signature().outputs, output);
    REQUIRE(answer);
    CHECK(answer->tensors[0].shape.front() == rows);
    const auto alone = outputs(*expected, f, rows);
    CHECK(std::ranges::equal(answer->values, std::as_bytes(std::span(alone))));
    const batch_part cut{
        .input = std::span(input).first(input.size() - 1), .output = {}, .shaped_output = &output};
    CHECK_THROWS_WITH_AS(m->run(1, {&cut, 1}, nullptr),
                         doctest::Contains("do not have the shapes of the model"), model_error);
  }
}

namespace {

/// Requests to a model of any shape, with these numbers of rows of the fixture, and their answers.
struct shaped_requests {
  shaped_requests(const model_signature& signature, const onnx::fixture& f, std::vector<uint32_t> sizes)
      : rows(std::move(sizes)), inputs(rows.size()), answers(rows.size()) {
    for (size_t i = 0; i < rows.size(); ++i) {
      auto given = signature.inputs;
      given[0].shape[0] = rows[i];
      const auto values = f.input_rows(rows[i]);
      inputs[i].resize(shapes_bytes(given) + values.size());
      std::ranges::copy(values, write_shapes(given, inputs[i]).begin());
      parts.push_back({.rows = rows[i], .input = inputs[i], .output = {}, .shaped_output = &answers[i]});
    }
  }
  std::vector<uint32_t> rows;
  std::vector<std::vector<std::byte>> inputs, answers;
  std::vector<batch_part> parts;
};

}  // namespace

TEST_CASE("openvino: requests of one shape are one inference, and each gets its rows") {
  const onnx::fixture f("mlp");
  auto s = source_of("mlp", model_engine::automatic);
  s.batched = false;
  s.any_shape = true;
  s.max_batch = 8;
  const auto m = on_chosen_engine()(s);
  shaped_requests together(m->signature(), f, {3, 1, 2});
  REQUIRE(m->run(6, together.parts, nullptr));
  for (size_t i = 0; i < together.rows.size(); ++i) {
    const auto answer = read_shapes(m->signature().outputs, together.answers[i]);
    REQUIRE(answer);
    CHECK(answer->tensors[0].shape == std::vector<int64_t>{together.rows[i], 16});
    std::vector<float> values(together.rows[i] * 16);
    std::memcpy(values.data(), answer->values.data(), answer->values.size());
    CHECK(onnx::relative_l2(values, f.output_rows(together.rows[i])) < 1e-4);
  }
}

TEST_CASE("openvino: names that the model lacks are refused with those that it has") {
  auto s = source_of("mlp", model_engine::openvino);
  s.shapes = {{"x", {1, 64}}};
  s.batched = false;
  CHECK_THROWS_WITH_AS(signature_of(s), (s.path + ": has no input 'x'; its inputs are input").c_str(),
                       model_error);
}

TEST_CASE("openvino: a stopped batch does not begin") {
  const auto m = on_chosen_engine()(source_of("mlp", model_engine::openvino));
  const onnx::fixture f("mlp");
  const auto input = f.input_rows(1);
  std::vector<float> out(16);
  const batch_part part{1, input, std::as_writable_bytes(std::span{out})};
  const std::atomic<bool> stop = true;
  CHECK_FALSE(m->run(1, {&part, 1}, &stop));
  CHECK(out == std::vector<float>(16));
}

TEST_CASE("engine choice: a file that is no model is refused once") {
  model_source s;
  s.path = TROUPE_FIXTURES "/onnx/mlp.in.bin";
  CHECK_THROWS_WITH_AS(on_chosen_engine()(s), (s.path + ": not an ONNX model (damaged or truncated)").c_str(),
                       model_error);
}
#else
TEST_CASE("engine choice: without OpenVINO the message says how to get it") {
  CHECK_THROWS_WITH_AS(on_chosen_engine()(source_of("mlp", model_engine::openvino)),
                       doctest::Contains("tools/install"), model_error);
  auto s = source_of("mlp", model_engine::automatic);
  s.decided_engine = model_engine::openvino;
  CHECK_THROWS_WITH_AS(on_chosen_engine()(s), doctest::Contains("tools/install"), model_error);
}
#endif
