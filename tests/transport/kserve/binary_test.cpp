#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/transport/kserve/requests.hpp"

namespace troupe {
namespace {

using nlohmann::json;
using testing::max_rows;
using testing::status_of;

/// The bytes of the request, or the message of its refusal (a 400; a 501 for shared memory).
struct outcome {
  std::string bytes;
  std::string error;
  infer_request request;
};
outcome take(std::string_view head, std::string_view binary, const model_signature& s) {
  outcome o;
  auto request = parse_infer({head, binary}, s, max_rows);
  if (!request) {
    CHECK(request.error().status == status_of(request.error().message));
    o.error = request.error().message;
    return o;
  }
  o.bytes.resize(request->input_bytes);
  if (auto e = write_inputs(*request, s, std::as_writable_bytes(std::span(o.bytes)))) {
    CHECK(e->status == status_of(e->message));
    o.error = e->message;
  }
  o.request = *request;
  return o;
}
std::string refusal(std::string_view head, std::string_view binary, const model_signature& s) {
  return take(head, binary, s).error;
}

model_signature one(data_type type, std::vector<int64_t> shape) {
  return {.inputs = {{"x", type, shape}}, .outputs = {{"x", type, shape}}};
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

std::string element(std::string_view text) {
  return bytes_of<uint32_t>({static_cast<uint32_t>(text.size())}) + std::string(text);
}

std::string x_head(std::string_view type, std::string_view shape, size_t size) {
  return json{{"inputs",
               {{{"name", "x"},
                 {"datatype", type},
                 {"shape", json::parse(shape)},
                 {"parameters", {{"binary_data_size", size}}}}}}}
      .dump();
}

TEST_CASE("a client sends and requests tensors without a JSON form as binary data") {
  const model_signature s{.inputs = {{"a", data_type::fp16, {2}}, {"n", data_type::int32, {}}},
                          .outputs = {{"y", data_type::bf16, {1}}, {"z", data_type::fp32, {1}}}};
  const auto inputs = bytes_of<uint16_t>({0x3c00, 0xbc00, 0x7e00, 0x0001}) + bytes_of<int32_t>({5, -6});
  const auto written = format_infer_request(s, 2, std::as_bytes(std::span(inputs)), 7.5);
  REQUIRE(written);
  REQUIRE(written->json_bytes);
  const auto body = split_infer_body(written->body, std::to_string(*written->json_bytes));
  REQUIRE(body);
  CHECK(
      body->json ==
      R"({"parameters":{"slo_ms":7.5,"binary_data_output":true},"inputs":[{"name":"a","datatype":"FP16","shape":[2,2],)"
      R"("parameters":{"binary_data_size":8}},{"name":"n","datatype":"INT32","shape":[2],"data":[5,-6]}]})");
  const auto o = take(body->json, body->binary, s);
  CHECK(o.error.empty());
  CHECK(o.bytes == inputs);
  CHECK(o.request.outputs == std::vector<infer_request::wanted>{{0, true}, {1, true}});

  const auto only_output = format_infer_request({.inputs = {s.inputs[1]}, .outputs = s.outputs}, 1,
                                                std::as_bytes(std::span(inputs)).last(4));
  REQUIRE(only_output);
  CHECK_FALSE(only_output->json_bytes);
  CHECK(
      only_output->body ==
      R"({"parameters":{"binary_data_output":true},"inputs":[{"name":"n","datatype":"INT32","shape":[1],"data":[-6]}]})");
}

TEST_CASE("a body is split at the JSON length of its header") {
  CHECK(split_infer_body("{}abc", "2")->json == "{}");
  CHECK(split_infer_body("{}abc", "2")->binary == "abc");
  CHECK(split_infer_body("{}abc", {})->json == "{}abc");
  CHECK(split_infer_body("abc", "0")->binary == "abc");
  for (auto wrong : {"6", "-1", "", "2x", "99999999999999999999"}) {
    const auto body = split_infer_body("{}abc", wrong);
    REQUIRE_FALSE(body);
    CHECK(body.error().status == 400);
    CHECK(body.error().message.ends_with("it must be the number of bytes of JSON in this body of 5"));
  }
}

TEST_CASE("binary and JSON inputs may be mixed, the binary ones in the order of the JSON") {
  const model_signature s{
      .inputs = {{"a", data_type::int16, {}}, {"b", data_type::fp32, {1}}, {"c", data_type::uint8, {}}},
      .outputs = {}};
  const auto o = take(R"({"inputs":[
      {"name":"c","datatype":"UINT8","shape":[2],"parameters":{"binary_data_size":2}},
      {"name":"b","datatype":"FP32","shape":[2,1],"data":[0.5,2]},
      {"name":"a","datatype":"INT16","shape":[2],"parameters":{"binary_data_size":4,"other":[]}}]})",
                      "\x07\x08" + bytes_of<int16_t>({-1, 300}), s);
  CHECK(o.error == "");
  CHECK(o.bytes == bytes_of<int16_t>({-1, 300}) + bytes_of<float>({0.5, 2}) + "\x07\x08");
}

TEST_CASE("binary data that does not fit is refused") {
  const auto s = one(data_type::fp32, {3});
  const std::string row(12, '\0');
  CHECK(refusal(x_head("FP32", "[1,3]", 12), row, s) == "");
  CHECK(refusal(x_head("FP32", "[1,3]", 8), row.substr(4), s) ==
        R"(input "x": binary_data_size is 8, shape [1,3] of FP32 needs 12)");
  CHECK(refusal(x_head("FP32", "[1,3]", 12), row.substr(1), s) ==
        R"(input "x": binary_data_size is 12, but only 11 bytes of binary data are left; )"
        "Inference-Header-Content-Length is the size of the JSON before them");
  CHECK(refusal(x_head("FP32", "[1,3]", 12), row + "x", s) ==
        "the last 1 bytes of binary data belong to no input");
  CHECK(refusal(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3]}]})", row, s) ==
        "the last 12 bytes of binary data belong to no input");
  CHECK(refusal(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1,2,3],)"
                R"("parameters":{"binary_data_size":12}}]})",
                row, s) == R"(input "x": both "data" and binary_data_size are given)");
  CHECK(refusal(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],)"
                R"("parameters":{"binary_data_size":-1}}]})",
                row, s) ==
        R"(inputs[0]: parameters.binary_data_size is "-1"; it must be a whole number of bytes)");
  CHECK(refusal(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],)"
                R"("parameters":{"shared_memory_region":"r","shared_memory_byte_size":12}}]})",
                "", s) ==
        "inputs[0]: parameters.shared_memory_region: shared memory is not supported; send the data in the "
        "body");
}

TEST_CASE("a BOOL byte is 0 or 1") {
  const auto s = one(data_type::boolean, {2});
  CHECK(take(x_head("BOOL", "[1,2]", 2), std::string_view("\1\0", 2), s).bytes ==
        std::string_view("\1\0", 2));
  CHECK(refusal(x_head("BOOL", "[1,2]", 2), "\1\2", s) == R"(input "x": element 1 is 2: BOOL needs 0 or 1)");
}

TEST_CASE("half floats are accepted and returned in binary only") {
  const auto s = one(data_type::bf16, {2});
  const auto head = x_head("BF16", "[1,2]", 4);
  CHECK(refusal(head, "abcd", s) ==
        R"(output "x" is BF16, which has no JSON form; ask for binary data (parameters.binary_data))");
  const auto o = take(R"({"parameters":{"binary_data_output":true},)" + head.substr(1), "abcd", s);
  CHECK(o.error == "");
  CHECK(o.bytes == "abcd");
  const auto r = format_infer({"m"}, o.request, s, std::as_bytes(std::span(o.bytes)), 0);
  REQUIRE(r);
  CHECK(r->json_bytes == r->body.size() - 4);
  CHECK(r->body.ends_with("abcd"));
}

TEST_CASE("BYTES elements have a length prefix, and are strings in JSON") {
  const auto s = one(data_type::bytes, {2});
  const auto values = element("a\0b") + element("") + element("caf\u00e9") + element(std::string(300, 'x'));
  CHECK(take(x_head("BYTES", "[2,2]", values.size()), values, s).bytes == values);
  const auto text =
      R"({"inputs":[{"name":"x","datatype":"BYTES","shape":[2,2],"data":["a","",["caf\u00e9"],"x"]}]})";
  CHECK(refusal(text, "", s) == R"(input "x": element 2 is "[\"caf\\u00e9\"": BYTES needs a string)");
  const auto o = take(
      R"({"inputs":[{"name":"x","datatype":"BYTES","shape":[2,2],"data":[["a\u0000",""],["caf\u00e9","x"]]}]})",
      "", s);
  CHECK(o.error == "");
  CHECK(o.bytes == element(std::string_view("a\0", 2)) + element("") + element("caf\u00e9") + element("x"));
  const auto r = format_infer({"m"}, o.request, s, std::as_bytes(std::span(o.bytes)), 0);
  REQUIRE(r);
  CHECK(json::parse(r->body)["outputs"][0]["data"] == json{std::string("a\0", 2), "", "caf\u00e9", "x"});

  CHECK(refusal(x_head("BYTES", "[1,2]", 5), element("a"), s) ==
        R"(input "x": binary data has 1 elements, shape [1,2] needs 2)");
  CHECK(refusal(x_head("BYTES", "[1,2]", 4), element("abcd").substr(0, 4), s) ==
        R"(input "x": binary data ends in the middle of element 0)");
  CHECK(refusal(x_head("BYTES", "[1,2]", 8), element("a") + std::string("\1\0\0", 3), s) ==
        R"(input "x": binary data ends in the middle of element 1)");
}

TEST_CASE("outputs are binary on request, in their order behind the JSON") {
  const model_signature s{.inputs = {{"x", data_type::uint8, {}}},
                          .outputs = {{"y", data_type::fp32, {1}}, {"z", data_type::int16, {}}}};
  const auto values = bytes_of<float>({1.5, 2.5}) + bytes_of<int16_t>({7, 8});
  const auto answer = [&](std::string_view rest) {
    const auto o = take(
        R"({"inputs":[{"name":"x","datatype":"UINT8","shape":[2],"data":[1,2]}])" + std::string(rest) + "}",
        "", s);
    CHECK(o.error == "");
    return *format_infer({"m"}, o.request, s, std::as_bytes(std::span(values)), 0);
  };
  const auto y_json = R"({"name":"y","datatype":"FP32","shape":[2,1],"data":[1.5,2.5]})";
  const auto y_binary = R"({"name":"y","datatype":"FP32","shape":[2,1],"parameters":{"binary_data_size":8}})";
  const auto z_json = R"({"name":"z","datatype":"INT16","shape":[2],"data":[7,8]})";
  const auto z_binary = R"({"name":"z","datatype":"INT16","shape":[2],"parameters":{"binary_data_size":4}})";
  const auto head = [](std::string_view outputs) {
    return R"({"model_name":"m","model_version":"1","outputs":[)" + std::string(outputs) + "]}";
  };
  const auto comma = std::string(",");

  auto r = answer("");
  CHECK_FALSE(r.json_bytes);
  CHECK(r.body == head(y_json + comma + z_json));
  r = answer(R"(,"parameters":{"binary_data_output":true})");
  CHECK(r.json_bytes == head(y_binary + comma + z_binary).size());
  CHECK(r.body == head(y_binary + comma + z_binary) + values);
  r = answer(R"(,"outputs":[{"name":"z","parameters":{"binary_data":true}},{"name":"y"}])");
  CHECK(r.body == head(z_binary + comma + y_json) + values.substr(8));
  r = answer(
      R"(,"outputs":[{"name":"z"},{"name":"y","parameters":{"binary_data":false}}],"parameters":{"binary_data_output":true})");
  CHECK(r.body == head(z_binary + comma + y_json) + values.substr(8));
}

TEST_CASE("without JSON the body is the rows of the only input") {
  const auto s = one(data_type::int16, {2});
  const auto o = take("", bytes_of<int16_t>({1, 2, 3, 4}), s);
  CHECK(o.error == "");
  CHECK(o.request.rows == 2);
  CHECK(o.bytes == bytes_of<int16_t>({1, 2, 3, 4}));
  CHECK(o.request.outputs == std::vector<infer_request::wanted>{{0, true, 0}});
  CHECK(
      refusal("", "abc", s) ==
      R"(input "x": 3 bytes are not a whole number of rows of 4 bytes; its type and shape are INT16 [-1,2])");
  CHECK(refusal("", std::string(4 * 9, 'x'), s) ==
        R"(input "x": 9 rows given; the model takes at most 8 in one request)");
  auto two = s;
  two.inputs.push_back({"b", data_type::fp32, {}});
  CHECK(refusal("", "abcd", two) ==
        R"(a request without JSON is for models with one input; this one takes "x", "b")");
}

TEST_CASE("classification returns the largest values, the largest first") {
  const auto s = one(data_type::fp32, {4});
  const auto values = bytes_of<float>({1, 5, 10, 4, 2, std::nanf(""), 2, -1});
  const auto head =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,4],"parameters":{"binary_data_size":32}}],)"
      R"("outputs":[{"name":"x","parameters":{"classification":3,"binary_data":)";
  for (bool binary : {false, true}) {
    const auto o = take(std::string(head) + (binary ? "true}}]}" : "false}}]}"), values, s);
    REQUIRE(o.error == "");
    const auto r = format_infer({"m"}, o.request, s, std::as_bytes(std::span(o.bytes)), 0);
    REQUIRE(r);
    const auto y = json::parse(r->body.substr(0, r->json_bytes.value_or(r->body.size())))["outputs"][0];
    CHECK(y["datatype"] == "BYTES");
    CHECK(y["shape"] == json{2, 3});
    if (binary)
      CHECK(r->body.substr(*r->json_bytes) == element("10.000000:2") + element("5.000000:1") +
                                                  element("4.000000:3") + element("2.000000:0") +
                                                  element("2.000000:2") + element("-1.000000:3"));
    else
      CHECK(y["data"] ==
            json{"10.000000:2", "5.000000:1", "4.000000:3", "2.000000:0", "2.000000:2", "-1.000000:3"});
  }
}

TEST_CASE("classification with more values than a row has returns all of them") {
  const auto s = one(data_type::fp32, {2});
  const auto o =
      take(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}],)"
           R"("outputs":[{"name":"x","parameters":{"classification":5}}]})",
           bytes_of<float>({1, 5}), s);
  REQUIRE(o.error == "");
  const auto r = format_infer({"m"}, o.request, s, std::as_bytes(std::span(o.bytes)), 0);
  REQUIRE(r);
  const auto y = json::parse(r->body)["outputs"][0];
  CHECK(y["shape"] == json{1, 2});
  CHECK(y["data"] == json{"5.000000:1", "1.000000:0"});
}

TEST_CASE("random tensors of every type survive request and response in binary") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto type = static_cast<data_type>(random() % data_type_count);
    const auto s =
        one(type, {static_cast<int64_t>(1 + random() % 5), static_cast<int64_t>(1 + random() % 3)});
    const auto rows = static_cast<uint32_t>(1 + random() % max_rows);
    std::string values;
    if (type == data_type::bytes)
      for (auto n = elements(s.inputs[0]) * rows; n > 0; --n)
        values += element(std::string(random() % 20, static_cast<char>(random())));
    else
      for (auto n = rows * row_bytes(s.inputs[0]); n > 0; --n)
        values += static_cast<char>(type == data_type::boolean ? random() % 2 : random());
    auto shape = json{rows};
    for (auto d : s.inputs[0].shape) shape.push_back(d);
    auto head = x_head(to_string(type), shape.dump(), values.size());
    head.insert(1, R"("parameters":{"binary_data_output":true},)");
    const auto o = take(head, values, s);
    REQUIRE_MESSAGE(o.error == "", o.error);
    CHECK(o.bytes == values);
    const auto r = format_infer({"m"}, o.request, s, std::as_bytes(std::span(o.bytes)), 0);
    REQUIRE(r);
    CHECK(r->body.substr(*r->json_bytes) == values);
  }
}

TEST_CASE("outputs of the wrong size are an error of the server") {
  const auto s = one(data_type::bytes, {1});
  infer_request asked;
  asked.rows = 2;
  asked.outputs = {{0}};
  for (const auto& wrong : {element("a"), element("a") + element("b") + element("c"),
                            element("a") + std::string("\5\0\0\0x", 5)}) {
    const auto r = format_infer({"m"}, asked, s, std::as_bytes(std::span(wrong)), 0);
    REQUIRE_FALSE(r);
    CHECK(r.error().status == 500);
  }
}

}  // namespace
}  // namespace troupe
