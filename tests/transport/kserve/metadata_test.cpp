// Metadata of models and servers, and their parsing by a client.
#include "transport/kserve/v2.hpp"

#include <doctest/doctest.h>

#include "tests/transport/kserve/requests.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("metadata names the model's tensors with -1 for the rows") {
  CHECK(
      format_model_metadata({"m"}, "onnx", one_input(data_type::fp32, {3, 4}),
                            {.slo_ms = 25, .max_rows = 64}) ==
      R"({"name":"m","versions":["1"],"platform":"onnx",)"
      R"("inputs":[{"name":"x","datatype":"FP32","shape":[-1,3,4]}],)"
      R"("outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]},{"name":"z","datatype":"INT64","shape":[-1]}],)"
      R"("parameters":{"slo_ms":25.0,"max_rows":64}})");
  CHECK(
      format_server_metadata("0.1.0") ==
      R"({"name":"troupe","version":"0.1.0","extensions":)"
      R"(["binary_tensor_data","classification","model_configuration","model_repository","parameters","statistics"]})");
}

TEST_CASE("metadata replaces bytes of names that are not UTF-8") {
  auto strange = one_input(data_type::fp32, {3});
  strange.inputs[0].name = "x\xff";
  const auto text = format_model_metadata({"m"}, "onnx", strange);
  CHECK(text.find(R"("inputs":[{"name":"x�",)") != std::string::npos);
}

TEST_CASE("a client reads the metadata and writes requests that fit it") {
  const auto s = one_input(data_type::fp32, {3, 4});
  const auto m =
      parse_model_metadata(format_model_metadata({"m", "2"}, "onnx", s, {.slo_ms = 25, .max_rows = 64}));
  REQUIRE(m);
  CHECK(m->model.name == "m");
  CHECK(m->model.version == "2");
  CHECK(m->signature == s);
  CHECK(m->limits.slo_ms == 25);
  CHECK(m->limits.max_rows == 64);
  CHECK_FALSE(parse_model_metadata("{}"));
  CHECK_FALSE(parse_model_metadata("<html>"));

  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const auto body = format_infer_request(fp32_by_3, 2, std::as_bytes(std::span(x)), 7.5);
  CHECK(
      body->body ==
      R"({"parameters":{"slo_ms":7.5},"inputs":[{"name":"x","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]}]})");
  CHECK_FALSE(body->json_bytes);
  const auto o = take(body->body);
  CHECK(o.request.timeout == 7500us);
  CHECK(values<float>(o) == x);
}
