#include "actors/frontend/image_inputs.hpp"

#include <doctest/doctest.h>

#include "actors/frontend/kserve_documents.hpp"
#include "tests/transport/image/image_files.hpp"

namespace troupe {
namespace {

catalog::entry classifier() {
  catalog::entry e;
  e.name = "classifier";
  e.max_batch = 8;
  e.signature = {{{"image", data_type::fp32, {3, 31, 45}}, {"size", data_type::int64, {2}}},
                 {{"y", data_type::fp32, {2}}}};
  image_input x;
  x.input = "image";
  x.crop = {31, 45};
  e.images = {x};
  return e;
}

}  // namespace

TEST_CASE("clients see an input of images as one file a row") {
  const auto seen = signature_for_clients(classifier());
  CHECK(seen.inputs[0] == tensor_spec{"image", data_type::bytes, {}});
  CHECK(seen.inputs[1] == classifier().signature.inputs[1]);
  CHECK(seen.outputs == classifier().signature.outputs);
  CHECK(format_model_metadata({"m"}, "p", seen).find(R"({"name":"image","datatype":"BYTES","shape":[-1]})") !=
        std::string::npos);
  CHECK(format_model_config(classifier()).find(R"({"name":"image","data_type":"TYPE_STRING","dims":[]})") !=
        std::string::npos);
}

TEST_CASE("an image becomes the row of its input, or its problem is said") {
  const auto model = classifier();
  const image_inputs files(model);
  CHECK(files.takes(0));
  CHECK_FALSE(files.takes(1));
  CHECK(files.is_file(image_bytes("base.png")));
  CHECK_FALSE(files.is_file("text"));
  std::vector<float> row(3 * 31 * 45, -1);
  const auto into = std::as_writable_bytes(std::span(row));
  CHECK(files.write(0, image_bytes("base.png"), into) == "");
  CHECK(row[0] == static_cast<float>(static_cast<uint8_t>(image_bytes("base.png.rgb")[0]) / 255.0));
  CHECK(row.back() >= 0);
  CHECK(files.write(0, "text", into) == "does not begin like a JPEG, PNG or WebP file");
}

TEST_CASE("a worker whose input has another shape takes no images") {
  auto model = classifier();
  model.signature.inputs[0].shape = {3, 32, 45};
  CHECK_FALSE(image_inputs(model).takes(0));
  CHECK(signature_for_clients(model).inputs[0].type == data_type::fp32);
}

TEST_CASE("a model without images shows its inputs as they are") {
  auto model = classifier();
  model.images.clear();
  CHECK(signature_for_clients(model) == model.signature);
  CHECK_FALSE(image_inputs(model).takes(0));
}

}  // namespace troupe
