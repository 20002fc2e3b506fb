#include "tools/common/one_device.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"

using namespace troupe;

TEST_CASE("one device: a CPU refuses flags of GPUs") {
  const auto model = one_device({})({.name = "mlp", .path = TROUPE_FIXTURES "/onnx/mlp.onnx"});
  CHECK(model->layers() == 3);
  CHECK(title_of({}) == "cpu, one core");
  CHECK_THROWS_WITH_AS(one_device({.gpu = 0}), "--gpu: is for --device cuda; add that, or remove this flag",
                       model_error);
  CHECK_THROWS_WITH_AS(
      one_device({.exact = true}),
      "--exact: is for --device cuda, as a cpu is always exact; add that, or remove this flag", model_error);
  CHECK_THROWS_WITH_AS(one_device({.device = "tpu"}), "--device tpu: must be cpu or cuda", model_error);
}

TEST_CASE("one device: the native engine takes whole shapes of a batch") {
  const model_source mlp{.name = "mlp", .path = TROUPE_FIXTURES "/onnx/mlp.onnx"};
  const auto model = one_device({.engine = "native", .shapes = {"input=3x64"}})(mlp);
  CHECK_FALSE(model->signature().batched);
  CHECK(model->signature().inputs[0].shape == std::vector<int64_t>{3, 64});
  CHECK(model->signature().outputs[0].shape == std::vector<int64_t>{3, 16});
  const auto batches = one_device({.engine = "native"})(mlp);
  const std::vector<float> input(3 * 64, 0.5f);
  std::vector<float> whole(3 * 16), rows(3 * 16);
  const auto run = [&](batch_model& m, uint32_t n, std::vector<float>& out) {
    const batch_part part{.rows = n,
                          .input = std::as_bytes(std::span(input)),
                          .output = std::as_writable_bytes(std::span(out))};
    CHECK(m.run(n, {&part, 1}, nullptr));
  };
  run(*model, 1, whole);
  run(*batches, 3, rows);
  CHECK(whole == rows);
  const auto refused = [&](std::vector<std::string> shapes) {
    try {
      one_device({.engine = "native", .shapes = std::move(shapes)})(mlp);
    } catch (const model_error& e) {
      return std::string(e.what()).substr(mlp.path.size());
    }
    return std::string();
  };
  const std::string fix = "; --engine openvino or auto may run the shapes";
  CHECK(refused({"input=3x63"}) ==
        ": input 'input' has the shape [-1, 64]: a row of it cannot be [63]" + fix);
  CHECK(refused({"input="}) ==
        ": --shape input=: the native engine takes batches, whose inputs have the same first dimension" +
            fix);
  CHECK(refused({"input=3x64", "b=2x4"}) ==
        ": --shape b=2x4: the native engine takes batches, whose inputs have the same first dimension" + fix);
}

TEST_CASE("one device: a missing GPU is refused") {
  CHECK_THROWS_AS(one_device({.device = "cuda", .gpu = 4095}), model_error);
  CHECK(title_of({.device = "cuda", .gpu = 3}) == "GPU 3");
}
