// Requests to models without batches: shapes have no dimension for rows.
#include <doctest/doctest.h>

#include "tests/transport/kserve/requests.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// x [1, 2] and the scalar rate, to y [3].
model_signature unbatched() {
  return {.inputs = {{"x", data_type::fp32, {1, 2}}, {"rate", data_type::int64, {}}},
          .outputs = {{"y", data_type::fp32, {3}}},
          .batched = false};
}

std::string request(const std::string& x_shape, const std::string& x_data) {
  return R"({"inputs":[{"name":"x","datatype":"FP32","shape":)" + x_shape + R"(,"data":)" + x_data +
         R"(},{"name":"rate","datatype":"INT64","shape":[],"data":[16000]}]})";
}

}  // namespace

TEST_CASE("a request to a model without batches is one row of whole shapes") {
  for (const char* data : {"[0.5,2]", "[[0.5,2]]"}) {
    const auto o = take(request("[1,2]", data), unbatched());
    REQUIRE(o.error == "");
    CHECK(o.request.rows == 1);
    REQUIRE(o.bytes.size() == 16);
    CHECK(values<float>(o)[1] == 2);
  }
  CHECK(refusal(request("[3,1,2]", "[1,2,3,4,5,6]"), unbatched()) ==
        R"(input "x": shape [3,1,2] given, [1,2] expected)");
  CHECK(refusal(request("[2]", "[1,2]"), unbatched()) == R"(input "x": shape [2] given, [1,2] expected)");
}

TEST_CASE("bytes without JSON are the only input of a model without batches") {
  auto s = unbatched();
  s.inputs.pop_back();
  const std::string two(8, '\0'), four(16, '\0');
  CHECK(parse_infer({{}, two}, s, max_rows)->rows == 1);
  CHECK(parse_infer({{}, four}, s, max_rows).error().message ==
        R"(input "x": 16 bytes are not its 8 bytes; its type and shape are FP32 [1,2])");
}

TEST_CASE("an answer of a model without batches has whole shapes, and so have its classes") {
  const auto s = unbatched();
  const std::vector<float> y{1, 3, 2};
  auto o = take(request("[1,2]", "[0,0]"), s);
  const auto answer = format_infer({"m"}, o.request, s, std::as_bytes(std::span(y)), 0);
  REQUIRE(answer);
  CHECK(answer->body.find(R"({"name":"y","datatype":"FP32","shape":[3],"data":[1,3,2]})") !=
        std::string::npos);
  o.request.outputs[0].classes = 2;
  const auto classes = format_infer({"m"}, o.request, s, std::as_bytes(std::span(y)), 0);
  REQUIRE(classes);
  CHECK(classes->body.find(R"("shape":[2],"data":["3.000000:1","2.000000:2"])") != std::string::npos);
}

TEST_CASE("metadata of a model without batches has whole shapes, and a client reads them") {
  const auto s = unbatched();
  const auto text = format_model_metadata({"m"}, "onnx", s);
  CHECK(text.find(R"("inputs":[{"name":"x","datatype":"FP32","shape":[1,2]},)"
                  R"({"name":"rate","datatype":"INT64","shape":[]}])") != std::string::npos);
  const auto m = parse_model_metadata(text);
  REQUIRE(m);
  CHECK(m->signature == s);
  const std::vector<std::byte> inputs(16);
  const auto body = format_infer_request(s, 1, inputs);
  REQUIRE(body);
  CHECK(take(body->body, s).error == "");
}
