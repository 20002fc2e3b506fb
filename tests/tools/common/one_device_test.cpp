#include "tools/common/one_device.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("one device: a missing GPU is refused") {
  CHECK_THROWS_AS(one_device({.device = "cuda", .gpu = 4095}), model_error);
  CHECK(title_of({.device = "cuda", .gpu = 3}) == "GPU 3");
}
