#include "transport/kserve/v2.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/transport/kserve/requests.hpp"

using namespace troupe;
using namespace troupe::testing;
using nlohmann::json;

TEST_CASE("rows, id, parameters and outputs of a request are read in any order") {
  const auto o = take(R"( {"outputs":[{"name":"z"},{"name":"y","parameters":{"binary_data":false}}],
      "inputs":[{"data":[1,2.5,-3e2,4,5,6],"shape":[2,3],"datatype":"FP32","name":"x","parameters":{"a":[{}]}}],
      "parameters":{"slo_ms":12.5,"priority":{"deep":[1,null]}},"id":"caf\u00e9 \ud83d\ude00","extra":[{"ignored":true}]} )");
  CHECK(o.error == "");
  CHECK(o.request.rows == 2);
  CHECK(o.request.id == "café 😀");
  CHECK(o.request.timeout == 12'500us);
  CHECK(o.request.outputs == std::vector<infer_request::wanted>{{1}, {0}});
  CHECK(values<float>(o) == std::vector<float>{1, 2.5, -300, 4, 5, 6});
}

TEST_CASE("a request without outputs gets all of them") {
  const auto o = take(x_with(R"("datatype":"FP32","shape":[1,3],"data":[1,2,3])"));
  CHECK(o.request.outputs == std::vector<infer_request::wanted>{{0}, {1}});
  CHECK_FALSE(o.request.timeout);
  CHECK(o.request.id.empty());
}

TEST_CASE("several inputs lie one after the other in the signature's order") {
  const model_signature s{.inputs = {{"a", data_type::uint8, {}}, {"b", data_type::uint16, {2}}},
                          .outputs = {}};
  const auto o = take(R"({"inputs":[{"name":"b","datatype":"UINT16","shape":[2,2],"data":[1,2,3,4]},
                                     {"name":"a","datatype":"UINT8","shape":[2],"data":[9,8]}]})",
                      s);
  CHECK(o.error == "");
  CHECK(o.bytes == std::vector<std::byte>{std::byte{9}, std::byte{8}, std::byte{1}, std::byte{0},
                                          std::byte{2}, std::byte{0}, std::byte{3}, std::byte{0},
                                          std::byte{4}, std::byte{0}});
}

TEST_CASE("inputs that do not fit the model are refused, each with its reason") {
  CHECK(refusal(R"({"inputs":[]})") == R"(input "x" is missing)");
  CHECK(refusal(R"({})") == R"("inputs" is missing)");
  CHECK(refusal(R"({"inputs":[{"name":"q"}]})") == R"(input "q" is unknown; the model takes "x")");
  CHECK(refusal(R"({"inputs":[{"datatype":"FP32"}]})") == R"(inputs[0]: "name" is missing)");
  const std::string x = R"({"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]})";
  CHECK(refusal(R"({"inputs":[)" + x + "," + x + "]}") == R"(input "x" occurs twice)");
  CHECK(refusal(x_with(R"("shape":[1,3],"data":[1,2,3])")) ==
        R"(input "x": "datatype" is missing; it must be FP32)");
  CHECK(refusal(x_with(R"("datatype":"FP64","shape":[1,3],"data":[1,2,3])")) ==
        R"(input "x": datatype "FP64" given, FP32 expected)");
  CHECK(refusal(x_with(R"("datatype":"FP32","data":[1,2,3])")) ==
        R"(input "x": "shape" is missing; it must be [-1,3])");
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[3],"data":[1,2,3])")) ==
        R"(input "x": shape [3] given, [-1,3] expected, where -1 is the number of rows)");
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[],"data":[1,2,3])")) ==
        R"(input "x": shape [] given, [-1,3] expected, where -1 is the number of rows)");
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[-1,3],"data":[1,2,3])")) ==
        R"(shape: "-1" is not a dimension; dimensions are whole numbers, 0 or more)");
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[0,3],"data":[])")) ==
        R"(input "x": 0 rows given; the first dimension must be 1 or more)");
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[9,3],"data":[])")) ==
        R"(input "x": 9 rows given; the model takes at most 8 in one request)");
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[1,3])")) == R"(input "x": "data" is missing)");
  CHECK(
      refusal(x_with(R"("datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":12})")) ==
      R"(input "x": binary_data_size is 12, but only 0 bytes of binary data are left; Inference-Header-Content-Length is the size of the JSON before them)");
  CHECK(refusal(x_with(R"("shape":[1,3],"shape":[1,3])")) == R"(inputs[0]: key "shape" occurs twice)");
  const model_signature two{.inputs = {{"a", data_type::uint8, {}}, {"b", data_type::uint8, {}}},
                            .outputs = {}};
  CHECK(refusal(R"({"inputs":[{"name":"a","datatype":"UINT8","shape":[2],"data":[1,2]},
                              {"name":"b","datatype":"UINT8","shape":[3],"data":[1,2,3]}]})",
                two) == R"(input "b": 3 rows given, but 2 in the input before it)");
}

TEST_CASE("outputs and parameters are checked") {
  const std::string x = R"("inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]}])";
  CHECK(refusal(R"({"outputs":[{"name":"w"}],)" + x + "}") ==
        R"(output "w" is unknown; the model has "y", "z")");
  CHECK(refusal(R"({"outputs":[{"name":"y"},{"name":"y"}],)" + x + "}") == R"(output "y" occurs twice)");
  CHECK(refusal(R"({"outputs":[{}],)" + x + "}") == R"(outputs[0]: "name" is missing)");
  for (auto us : {"-1", "1.5", "\"soon\"", "null"})
    CHECK(refusal(R"({"parameters":{"timeout":)" + std::string(us) + "}," + x + "}")
              .starts_with("parameters.timeout is "));
  CHECK(refusal(R"({"outputs":[{"name":"y","parameters":{"binary_data":1}}],)" + x + "}") ==
        R"(outputs[0]: parameters.binary_data is "1"; it must be true or false)");
  CHECK(refusal(R"({"outputs":[{"name":"y","parameters":{"shared_memory_region":"r"}}],)" + x + "}") ==
        "outputs[0]: parameters.shared_memory_region: shared memory is not supported; send the data in the "
        "body");
  for (auto ms : {"0", "-1", "\"soon\"", "1e99", "null"})
    CHECK(refusal(R"({"parameters":{"slo_ms":)" + std::string(ms) + "}," + x + "}")
              .starts_with("parameters.slo_ms is "));
  CHECK(
      refusal(R"({"parameters":7,)" + x + "}") ==
      R"(malformed JSON at byte 14: expected an object under "parameters", found "7,\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32")");
}

TEST_CASE("the smallest time limit of a request counts") {
  const auto timeout = [](std::string_view parameters) {
    return take(R"({"parameters":{)" + std::string(parameters) +
                R"(},"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]}]})")
        .request.timeout;
  };
  CHECK(timeout(R"("timeout":2500)") == 2500us);
  CHECK(timeout(R"("timeout":0)") == std::nullopt);
  CHECK(timeout(R"("timeout":18446744073709551615)") == std::nullopt);
  CHECK(timeout(R"("timeout":2500,"slo_ms":1)") == 1ms);
  CHECK(timeout(R"("slo_ms":10,"timeout":2500)") == 2500us);
  CHECK(timeout(R"("sequence_id":7,"priority":1,"x":[{}])") == std::nullopt);
}

TEST_CASE("malformed JSON is refused with its place") {
  CHECK(refusal("") == "malformed JSON at byte 0: expected an object, found the end");
  CHECK(refusal("[]") == R"(malformed JSON at byte 0: expected an object, found "[]")");
  CHECK(refusal("{") == "malformed JSON at byte 1: expected a string, found the end");
  CHECK(refusal(R"({"a":1,})") == R"(malformed JSON at byte 7: expected a string, found "}")");
  CHECK(refusal(R"({"a" 1})") == R"(malformed JSON at byte 5: expected ':' after a key, found "1}")");
  CHECK(refusal(R"({"a":tru})") == R"(malformed JSON at byte 5: expected a value, found "tru}")");
  CHECK(refusal(R"({"a":1} x)") == R"(malformed JSON at byte 8: expected nothing more, found "x")");
  CHECK(refusal("{\"a\":\"\n\"}") ==
        R"(malformed JSON at byte 7: expected no control character in a string, found "\"}")");
  CHECK(refusal("{\"id\":\"\xff\"}") == R"(malformed JSON at byte 7: expected UTF-8 in a string, found "")");
  CHECK(refusal(R"({"id":"\ud800"})") ==
        R"(malformed JSON at byte 13: expected a low surrogate, found "\"}")");
  CHECK(refusal(R"({"id":"\x"})") == R"(malformed JSON at byte 9: expected an escape, found "\"}")");
  CHECK(refusal(R"({"a":)" + std::string(1000, '[') + "}").find("expected no more than 64 levels") !=
        std::string::npos);
}

TEST_CASE("an oversized id is refused") {
  const auto with_id = [](size_t bytes) { return refusal(R"({"id":")" + std::string(bytes, 'i') + R"("})"); };
  CHECK(with_id(1024) == R"("inputs" is missing)");
  CHECK(with_id(1025) == "id has 1025 bytes; at most 1024 are allowed");
  CHECK(with_id(40'000'000) == "id has 40000000 bytes; at most 1024 are allowed");
}

TEST_CASE("a response has the requested outputs, in the requested order") {
  const model_signature s{.inputs = {},
                          .outputs = {{"y", data_type::fp32, {2}}, {"ok", data_type::boolean, {}}}};
  const float y[] = {1, 0.1f, -2.5e-7f, 3e20f};
  std::vector<std::byte> bytes(sizeof y + 2);
  std::memcpy(bytes.data(), y, sizeof y);
  bytes[sizeof y] = std::byte{1};
  infer_request request;
  request.id = "a\"b";
  request.rows = 2;
  request.outputs = {{1}, {0}};
  CHECK(format_infer({"m"}, request, s, bytes, 7)->body ==
        R"({"model_name":"m","model_version":"1","id":"a\"b","parameters":{"batch_rows":7},"outputs":[)"
        R"({"name":"ok","datatype":"BOOL","shape":[2],"data":[true,false]},)"
        R"({"name":"y","datatype":"FP32","shape":[2,2],"data":[1,0.1,-2.5e-07,3e+20]}]})");
  request.id.clear();
  request.outputs = {{0}};
  CHECK(format_infer({"m", "3"}, request, s, bytes, 0)->body ==
        R"({"model_name":"m","model_version":"3","outputs":[)"
        R"({"name":"y","datatype":"FP32","shape":[2,2],"data":[1,0.1,-2.5e-07,3e+20]}]})");
}

TEST_CASE("NaN in an output is a 500, because JSON has no NaN") {
  const model_signature s{.inputs = {}, .outputs = {{"y", data_type::fp32, {2}}}};
  const float y[] = {1, std::nanf("")};
  infer_request request;
  request.rows = 1;
  request.outputs = {{0}};
  const auto r = format_infer({"m"}, request, s, std::as_bytes(std::span(y)), 0);
  REQUIRE_FALSE(r);
  CHECK(r.error() ==
        http_error{500, R"(tensor "y" has nan in element 1, which has no JSON form; ask for binary data)"});
}

TEST_CASE("random tensors of every type survive response and request bit by bit") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const auto type = static_cast<data_type>(random() % data_type_count);
    if (type == data_type::fp16 || type == data_type::bf16 || type == data_type::bytes) continue;
    const tensor_spec t{
        "t", type, {static_cast<int64_t>(1 + random() % 5), static_cast<int64_t>(1 + random() % 3)}};
    const model_signature s{.inputs = {t}, .outputs = {t}};
    infer_request asked;
    asked.rows = static_cast<uint32_t>(1 + random() % max_rows);
    asked.outputs = {{0}};
    std::vector<std::byte> bytes(asked.rows * row_bytes(t));
    for (auto& b : bytes) b = static_cast<std::byte>(type == data_type::boolean ? random() % 2 : random());
    const auto response = format_infer({"m"}, asked, s, bytes, 0);
    if (!response) {
      CHECK(response.error().message.find("which has no JSON form") != std::string::npos);
      continue;
    }
    const auto j = json::parse(response->body);
    CHECK(take(json{{"inputs", j["outputs"]}}.dump(), s).error == "");
    // The library's dump rewrites numbers: compare with the text of the response itself.
    auto body = response->body;
    body.replace(body.find("\"outputs\""), 9, "\"inputs\"");
    const auto back = take(body, s);
    REQUIRE_MESSAGE(back.error == "", back.error);
    CHECK(back.bytes == bytes);
  }
}

TEST_CASE("a mutated body is accepted or refused, and accepted bodies are JSON") {
  std::mt19937_64 random(11);
  const model_signature s{.inputs = {{"x", data_type::fp32, {2}}, {"b", data_type::boolean, {}}},
                          .outputs = {{"y", data_type::fp32, {2}}}};
  const std::string original =
      R"({"id":"\u00e9\"1","parameters":{"slo_ms":5,"k":[{}]},"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],)"
      R"("data":[[1.5,-2],[3e2,4]]},{"name":"b","datatype":"BOOL","shape":[2],"data":[true,false]}],"outputs":[{"name":"y"}]})";
  REQUIRE(take(original, s).error == "");
  int taken = 0;
  for (int round = 0; round < 50'000; ++round) {
    auto body = original;
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      const auto at = random() % body.size();
      switch (random() % 5) {
        case 0: body[at] = static_cast<char>(random()); break;
        case 1: body.erase(at, 1 + random() % 8); break;
        case 2: body.insert(at, 1, "[]{},:\"\\0123456789eE+-. \n"[random() % 25]); break;
        case 3: body.insert(at, body.substr(random() % body.size(), random() % 20)); break;
        case 4: body.resize(at + 1); break;
      }
      if (body.empty()) body = "{";
    }
    const auto o = take(body, s);
    if (o.error.empty()) {
      ++taken;
      CHECK_MESSAGE(json::accept(body), body);
    }
  }
  CHECK(taken > 0);
}
