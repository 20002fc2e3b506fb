// Inputs as files: BYTES in place of the model's type.
#include <doctest/doctest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "messages/common/base64.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {
namespace {

using nlohmann::json;

/// Files are "N": a row of two numbers N.
class digit_files final : public file_inputs {
 public:
  bool takes(size_t input) const override { return input == 0; }
  bool is_file(std::string_view body) const override { return body.size() == 1; }
  std::string write(size_t, std::string_view file, std::span<std::byte> row) const override {
    if (file.size() != 1 || row.size() != 8) return "is no digit";
    const float both[2] = {static_cast<float>(file[0] - '0'), static_cast<float>(file[0] - '0')};
    std::memcpy(row.data(), both, sizeof both);
    return {};
  }
};

const model_signature files_and_numbers{{{"f", data_type::fp32, {2}}, {"n", data_type::fp32, {}}}, {}};
const model_signature files_only{{{"f", data_type::fp32, {2}}}, {}};

struct file_outcome {
  std::vector<float> values;
  std::string error;
  bool operator==(const file_outcome&) const = default;
};
file_outcome outcome_of(infer_body body, const model_signature& s = files_and_numbers) {
  const digit_files files;
  const auto request = parse_infer(body, s, 4, &files);
  if (!request) return {{}, request.error().message};
  file_outcome out;
  out.values.resize(request->input_bytes / sizeof(float));
  if (auto e = write_inputs(*request, s, std::as_writable_bytes(std::span(out.values)), &files))
    return {{}, e->message};
  return out;
}

std::string text_of(const json& shape, const json& data) {
  const auto rows = shape.empty() ? json(1) : shape[0];
  return json{
      {"inputs",
       {{{"name", "f"}, {"datatype", "BYTES"}, {"shape", shape}, {"data", data}},
        {{"name", "n"}, {"datatype", "FP32"}, {"shape", {rows}}, {"data", std::vector(rows.get<int>(), 7)}}}}}
      .dump();
}

std::string length_and(const std::string& file) {
  return std::string{static_cast<char>(file.size()), 0, 0, 0} + file;
}

std::string binary_head(const json& shape, size_t bytes) {
  return json{{"inputs",
               {{{"name", "f"},
                 {"datatype", "BYTES"},
                 {"shape", shape},
                 {"parameters", {{"binary_data_size", bytes}}}}}}}
      .dump();
}

const std::string five = to_base64(std::as_bytes(std::span("5", 1))),
                  six = to_base64(std::as_bytes(std::span("6", 1)));

}  // namespace

TEST_CASE("files come in base64, each for one row, beside other inputs") {
  const file_outcome both{{5, 5, 6, 6, 7, 7}, ""};
  CHECK(outcome_of({text_of({2}, {five, six}), {}}) == both);
  CHECK(outcome_of({text_of({2, 1}, {five, six}), {}}) == both);
  CHECK(outcome_of({text_of({2, 1}, {json::array({five}), json::array({six})}), {}}) == both);
}

TEST_CASE("files come as binary data, each behind its length") {
  const auto binary = length_and("5") + length_and("6");
  for (const json& shape : {json{2}, json{2, 1}})
    CHECK(outcome_of({binary_head(shape, binary.size()), binary}, files_only) ==
          file_outcome{{5, 5, 6, 6}, ""});
}

TEST_CASE("a raw binary request is one file, or the rows of a tensor") {
  CHECK(outcome_of({{}, "5"}, files_only) == file_outcome{{5, 5}, ""});
  const float rows[4] = {1, 2, 3, 4};
  const std::string_view tensor(reinterpret_cast<const char*>(rows), sizeof rows);
  CHECK(outcome_of({{}, tensor}, files_only) == file_outcome{{1, 2, 3, 4}, ""});
}

TEST_CASE("the tensor itself is still taken where files are") {
  const auto text = R"({"inputs":[{"name":"f","datatype":"FP32","shape":[1,2],"data":[3,4]}]})";
  CHECK(outcome_of({text, {}}, files_only) == file_outcome{{3, 4}, ""});
}

TEST_CASE("wrong files are refused with their input and row") {
  const auto error = [](const json& shape, const json& data) {
    return outcome_of({text_of(shape, data), {}}).error;
  };
  CHECK(error({2}, {five, to_base64(std::as_bytes(std::span("77", 2)))}) ==
        "input \"f\": the file of row 1 is no digit");
  CHECK(error({2}, {five, "5"}) ==
        "input \"f\": the file of row 1 is not base64; encode it so, or send it as binary data "
        "(parameters.binary_data_size)");
  CHECK(error({2}, {five, 5}) == "input \"f\": element 1 is \"5\": BYTES needs a string");
  CHECK(error({2}, json::array({five})) == "input \"f\": data has 1 elements, shape [2,1] needs 2");
  CHECK(error({2, 2}, {five, six}) ==
        "input \"f\": shape [2,2] given, [-1] or [-1,1] expected of BYTES, where -1 is the number of files");
  CHECK(error(json::array(), json::array({five})).find("input \"f\": shape [] given, [-1]") == 0);
  CHECK(error({5}, {five, five, five, five, five}) ==
        "input \"f\": 5 rows given; the model takes at most 4 in one request");
  CHECK(error({0}, json::array()) == "input \"f\": 0 rows given; the first dimension must be 1 or more");
  const auto binary = length_and("5") + length_and("6");
  CHECK(outcome_of({binary_head({3}, binary.size()), binary}, files_only).error ==
        "input \"f\": binary data has 2 elements, shape [3] needs 3");
  CHECK(outcome_of({binary_head({2}, binary.size() - 1), binary.substr(1)}, files_only)
            .error.find("binary data ends in the middle of element") != std::string::npos);
}

TEST_CASE("other types are refused with what is accepted") {
  const auto with_type = [](const std::string& type) {
    return outcome_of({R"({"inputs":[{"name":"f","shape":[1,2],"data":[3,4])" + type + "}]}", {}}, files_only)
        .error;
  };
  CHECK(with_type(R"(,"datatype":"INT8")") == "input \"f\": datatype \"INT8\" given, FP32 or BYTES expected");
  CHECK(with_type("") == "input \"f\": \"datatype\" is missing; it must be FP32 or BYTES");
  const auto bytes =
      outcome_of({R"({"inputs":[{"name":"n","datatype":"BYTES","shape":[1],"data":["a"]}]})", {}});
  CHECK(bytes.error == "input \"n\": datatype \"BYTES\" given, FP32 expected");
}

}  // namespace troupe
