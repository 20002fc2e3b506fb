#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

/// A model on CPUs.
cluster_reading with_preprocess(const std::string& keys, const std::string& more = {}) {
  auto text = changed(good_cluster, "\"emulated\"\ncount = 2", "\"cpu\"");
  text = changed(text, "profile = { alpha_ms = 1, beta_ms = 5 }", "source = \"mlp.onnx\"\n");
  return read(changed(text, "source = \"mlp.onnx\"\n",
                      "source = \"mlp.onnx\"\n" + more + "preprocess = { " + keys + " }\n"));
}

image_input images_of(const std::string& keys) {
  const auto cluster = with_preprocess("decode = \"image\", " + keys);
  REQUIRE(listed(cluster.problems) == "");
  REQUIRE(cluster.spec.models[0].images.size() == 1);
  return cluster.spec.models[0].images[0];
}

std::string preprocess_problem(const std::string& keys) {
  const auto cluster = with_preprocess("decode = \"image\", " + keys);
  std::string out;
  for (const auto& p : cluster.problems) out += (out.empty() ? "" : "\n") + p.text;
  return out;
}

}  // namespace

TEST_CASE("preprocess has sizes, and defaults for everything else") {
  const auto x = images_of("resize = 256, crop = 224");
  CHECK(x.input == "");
  CHECK(x.resize == std::vector<uint32_t>{256});
  CHECK(x.crop == std::vector<uint32_t>{224, 224});
  CHECK(x.filter == image_filter::bilinear);
  CHECK(x.channels == image_channels::rgb);
  CHECK(x.layout == image_layout::nchw);
  CHECK(x.scale == 1.0 / 255);
  CHECK(x.mean.empty());
  CHECK(x.deviation.empty());
  CHECK(x.max_pixels == 32 << 20);
}

TEST_CASE("preprocess says how images become a tensor") {
  const auto x = images_of(
      "input = \"data\", resize = [40, 50], filter = \"bicubic\", channels = \"BGR\", layout = \"NHWC\", "
      "scale = 1, "
      "mean = [103.9, 116.8, 123.7], std = 2, max_pixels = 1000000");
  CHECK(x.input == "data");
  CHECK(x.resize == std::vector<uint32_t>{40, 50});
  CHECK(x.crop.empty());
  CHECK(x.filter == image_filter::bicubic);
  CHECK(x.channels == image_channels::bgr);
  CHECK(x.layout == image_layout::nhwc);
  CHECK(x.scale == 1);
  CHECK(x.mean == std::vector{103.9, 116.8, 123.7});
  CHECK(x.deviation == std::vector{2.0, 2.0, 2.0});
  CHECK(x.max_pixels == 1000000);
  CHECK(images_of("crop = [5, 6], channels = \"L\", mean = 0.5").mean == std::vector{0.5});
}

TEST_CASE("preprocess is part of the cluster's hash") {
  const auto hash = [](const std::string& keys) {
    return with_preprocess("decode = \"image\", " + keys).spec.hash;
  };
  CHECK(hash("crop = 5") == hash("crop = 5, channels = \"RGB\""));
  CHECK(hash("crop = 5") != hash("crop = 6"));
  CHECK(hash("crop = 5, mean = 1") != hash("crop = 5, mean = 2"));
  CHECK(hash("crop = 5") == hash("crop = 5, filter = \"bilinear\""));
}

TEST_CASE("wrong preprocess keys are named") {
  CHECK(listed(with_preprocess("crop = 5").problems).find("model.preprocess.decode: is missing") !=
        std::string::npos);
  CHECK(listed(with_preprocess("decode = \"audio\", crop = 5").problems).find("must be one of \"image\"") !=
        std::string::npos);
  CHECK(preprocess_problem("crop = 5, size = 4").find("unknown key 'size'") != std::string::npos);
  CHECK(
      preprocess_problem("resize = 256") ==
      "model.preprocess.crop: is missing: images have many sizes, and the model's input has one; give crop = "
      "[height, width], or resize = [height, width]");
  CHECK(preprocess_problem("mean = 1").find("model.preprocess.crop: is missing") == 0);
  CHECK(preprocess_problem("crop = [1, 2, 3]") ==
        "model.preprocess.crop: must be [height, width] or one number of pixels");
  CHECK(preprocess_problem("crop = []") ==
        "model.preprocess.crop: must be [height, width] or one number of pixels");
  CHECK(preprocess_problem("crop = 1.5") ==
        "model.preprocess.crop: has a number of pixels that is not whole");
  CHECK(preprocess_problem("crop = [0, 5]").find("model.preprocess.crop: holds 0; it must be") == 0);
  CHECK(preprocess_problem("crop = \"large\"").find("model.preprocess.crop: must be pixels in 1..16384") ==
        0);
  CHECK(preprocess_problem("resize = 200, crop = [200, 201]") ==
        "model.preprocess.crop: is larger than the images after resize");
  CHECK(preprocess_problem("resize = [200, 300], crop = [201, 300]") ==
        "model.preprocess.crop: is larger than the images after resize");
  CHECK(preprocess_problem("crop = 5, mean = [1, 2]") ==
        "model.preprocess.mean: must be one number, or 3: one for each channel");
  CHECK(preprocess_problem("crop = 5, channels = \"L\", std = [1, 2, 3]") ==
        "model.preprocess.std: must be one number, or 1: one for each channel");
  CHECK(preprocess_problem("crop = 5, std = 0").find("model.preprocess.std: must be a number") == 0);
  CHECK(preprocess_problem("crop = 5, scale = 0").find("model.preprocess.scale: must be") == 0);
  CHECK(preprocess_problem("crop = 5, max_pixels = 0").find("model.preprocess.max_pixels: must be") == 0);
  CHECK(preprocess_problem("crop = 5, filter = \"bilinaer\"").find("did you mean 'bilinear'?") !=
        std::string::npos);
}

TEST_CASE("preprocess is for rows of models with a file, on devices that compute") {
  CHECK(listed(with_preprocess("decode = \"image\", crop = 5", "batching = \"none\"\n").problems)
            .find("model.preprocess: makes the rows of a batch, and this model has batching = \"none\"") !=
        std::string::npos);
  const auto emulated =
      read(changed(good_cluster, "profile = { alpha_ms = 1, beta_ms = 5 }",
                   "profile = { alpha_ms = 1, beta_ms = 5 }\npreprocess = { decode = \"image\" }"));
  CHECK(listed(emulated.problems).find("model.preprocess: only a model with a source has one") !=
        std::string::npos);
  const auto both =
      read(changed(good_cluster, "profile = { alpha_ms = 1, beta_ms = 5 }",
                   "profile = { alpha_ms = 1, beta_ms = 5 }\nsource = \"mlp.onnx\"\npreprocess = { decode = "
                   "\"image\", crop = 5 }"));
  CHECK(listed(both.problems).find("has an emulated device; remove one") != std::string::npos);
}

TEST_CASE("preprocess of a model that is deployed at run time comes in JSON, too") {
  const auto cluster = with_preprocess("decode = \"image\", crop = 5");
  const auto m = read_model_text(
      model_text_of_json(R"({"slo_ms": 20, "source": "mlp.onnx", "preprocess": {"decode": "image",)"
                         R"( "resize": 9, "crop": [7, 8], "mean": [0.5, 0.25, 0]}})",
                         "m"),
      "request", cluster.spec, TROUPE_FIXTURES "/onnx");
  REQUIRE(listed(m.problems) == "");
  REQUIRE(m.spec.images.size() == 1);
  CHECK(m.spec.images[0].resize == std::vector<uint32_t>{9});
  CHECK(m.spec.images[0].crop == std::vector<uint32_t>{7, 8});
  CHECK(m.spec.images[0].mean == std::vector{0.5, 0.25, 0.0});
}
