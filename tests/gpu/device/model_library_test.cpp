#include "gpu/device/model_library.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/model.hpp"
#include "tests/gpu/onnx/fixtures.hpp"

using namespace troupe;

namespace {

model_source of(std::string path) {
  model_source s;
  s.path = std::move(path);
  return s;
}

}  // namespace

TEST_CASE("model library: devices with the same file share one copy, on CPUs and GPUs") {
  model_library library;
  const auto path = of(troupe::onnx::fixture_path("mlp"));
  const auto first = library.model(path);
  CHECK(library.model(path) == first);
  const auto on_cpu = library.model_on_cpu(path);
  CHECK(on_cpu.model == first);
  CHECK(library.model_on_cpu(path).weights == on_cpu.weights);
}

TEST_CASE("model library: a model is released after its last use, and opened again on request") {
  model_library library;
  auto on_cpu = library.model_on_cpu(of(troupe::onnx::fixture_path("mlp")));
  const std::weak_ptr<const troupe::onnx::model> model = on_cpu.model;
  on_cpu = {};
  CHECK(model.expired());
  CHECK(library.model(of(troupe::onnx::fixture_path("mlp"))) != nullptr);
}

TEST_CASE("model library: a modified file is opened again") {
  const auto path = std::filesystem::temp_directory_path() / ("library" + std::to_string(getpid()) + ".onnx");
  std::filesystem::copy_file(troupe::onnx::fixture_path("mlp"), path);
  model_library library;
  const auto first = library.model(of(path));
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  CHECK(library.model(of(path)) != first);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(library.model(of(path)), doctest::Contains("No such file"), model_error);
}

TEST_CASE("model library: the lengths of an encoder share their parameters") {
  model_library library;
  auto source = of(std::string(TROUPE_FIXTURES) + "/encoders/xlmr");
  source.shapes = {{"input_ids", {16}}};
  const auto brief = library.model_on_cpu(source);
  source.shapes = {{"input_ids", {64}}};
  const auto longer = library.model_on_cpu(source);
  CHECK(longer.model != brief.model);
  CHECK(longer.weights == brief.weights);
  REQUIRE(longer.model->layers().size() == brief.model->layers().size());
  for (size_t i = 0; i < longer.model->layers().size(); ++i)
    CHECK(longer.model->parameters(i) == brief.model->parameters(i));
  CHECK(library.model_on_cpu(source).model == longer.model);
}
