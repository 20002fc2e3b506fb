#include "transport/kserve/values.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/transport/kserve/requests.hpp"

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("data is flat, or nested by its shape") {
  const auto s = one_input(data_type::int32, {2, 2});
  const std::vector<int32_t> expected{1, 2, 3, 4, 5, 6, 7, 8};
  for (auto data :
       {"[1,2,3,4,5,6,7,8]", "[[[1,2],[3,4]],[[5,6],[7,8]]]", "[ [ [1 , 2],\n[3,4]] , [[5,6],[7,8]] ]"})
    CHECK(values<int32_t>(take(x_with(R"("datatype":"INT32","shape":[2,2,2],"data":)" + std::string(data)),
                               s)) == expected);
}

TEST_CASE("every type accepts its whole range and nothing beyond") {
  CHECK(scalar<bool>(data_type::boolean, "true"));
  CHECK_FALSE(scalar<bool>(data_type::boolean, "false"));
  CHECK(scalar<uint8_t>(data_type::uint8, "255") == 255);
  CHECK(scalar<int8_t>(data_type::int8, "-128") == -128);
  CHECK(scalar<uint16_t>(data_type::uint16, "65535") == 65535);
  CHECK(scalar<int16_t>(data_type::int16, "-32768") == -32768);
  CHECK(scalar<uint32_t>(data_type::uint32, "4294967295") == 4294967295);
  CHECK(scalar<int32_t>(data_type::int32, "-2147483648") == -2147483648);
  CHECK(scalar<uint64_t>(data_type::uint64, "18446744073709551615") == UINT64_MAX);
  CHECK(scalar<int64_t>(data_type::int64, "-9223372036854775808") == INT64_MIN);
  CHECK(scalar<float>(data_type::fp32, "3.4028235e38") == std::numeric_limits<float>::max());
  CHECK(scalar<double>(data_type::fp64, "1.7976931348623157e308") == std::numeric_limits<double>::max());

  const auto range = [](data_type t, std::string v) {
    return "input \"x\": element 0 is \"" + v + "\": out of range for " + std::string(to_string(t));
  };
  for (auto [type, text] : {std::pair{data_type::uint8, "256"},
                            {data_type::uint8, "-1"},
                            {data_type::int8, "128"},
                            {data_type::uint16, "65536"},
                            {data_type::int16, "-32769"},
                            {data_type::uint32, "4294967296"},
                            {data_type::int32, "2147483648"},
                            {data_type::uint64, "18446744073709551616"},
                            {data_type::uint64, "1.8446744073709552e19"},
                            {data_type::int64, "9223372036854775808"},
                            {data_type::int64, "1e300"},
                            {data_type::fp32, "3.5e38"},
                            {data_type::fp32, "-1e999"},
                            {data_type::fp64, "1e309"}})
    CHECK(scalar_refusal(type, text) == range(type, text));
}

TEST_CASE("numbers may be written in any way that keeps their value") {
  CHECK(scalar<int32_t>(data_type::int32, "3.0") == 3);
  CHECK(scalar<int32_t>(data_type::int32, "-2.5e1") == -25);
  CHECK(scalar<uint64_t>(data_type::uint64, "1e19") == 10'000'000'000'000'000'000u);
  CHECK(scalar<uint8_t>(data_type::uint8, "-0") == 0);
  CHECK(scalar<float>(data_type::fp32, "1e-60") == 0);
  CHECK(scalar<float>(data_type::fp32, "1e-45") == std::numeric_limits<float>::denorm_min());
  CHECK(scalar<double>(data_type::fp64, "5e-324") == std::numeric_limits<double>::denorm_min());
  CHECK(scalar<double>(data_type::fp64, "1e-400") == 0);
  CHECK(std::signbit(scalar<float>(data_type::fp32, "-0.0")));
  CHECK(scalar_refusal(data_type::int32, "1.5") ==
        "input \"x\": element 0 is \"1.5\": INT32 needs a whole number");
  CHECK(scalar_refusal(data_type::int32, "1e-3") ==
        "input \"x\": element 0 is \"1e-3\": INT32 needs a whole number");
}

TEST_CASE("an invalid number is refused with its position") {
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[1,3],"data":[1,"NaN",3])")) ==
        R"(input "x": element 1 is "\"NaN\"": FP32 needs a number (JSON has no NaN and no infinity))");
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[1,3],"data":[1,2,NaN])")) ==
        R"(input "x": element 2 is "NaN": FP32 needs a number (JSON has no NaN and no infinity))");
  CHECK(scalar_refusal(data_type::int64, "null") ==
        R"(input "x": element 0 is "null": INT64 needs a number)");
  CHECK(scalar_refusal(data_type::int64, "true") ==
        R"(input "x": element 0 is "true": INT64 needs a number)");
  CHECK(scalar_refusal(data_type::boolean, "1") ==
        R"(input "x": element 0 is "1": BOOL needs true or false)");
  CHECK(scalar_refusal(data_type::int64, "01") ==
        R"(malformed data of input "x" at byte 2: expected ',' or ']', found "1]")");
  CHECK(scalar_refusal(data_type::fp64, "1.") ==
        R"(malformed data of input "x" at byte 3: expected a digit, found "]")");
  CHECK(scalar_refusal(data_type::fp64, "+1") ==
        R"(input "x": element 0 is "+1": FP64 needs a number (JSON has no NaN and no infinity))");
}

TEST_CASE("half floats have no JSON form") {
  CHECK(scalar_refusal(data_type::fp16, "1") ==
        R"(input "x" is FP16, which has no JSON form; send it as binary data (parameters.binary_data_size))");
  auto s = fp32_by_3;
  s.outputs.push_back({"h", data_type::bf16, {}});
  CHECK(refusal(x_with(R"("datatype":"FP32","shape":[1,3],"data":[1,2,3])"), s) ==
        R"(output "h" is BF16, which has no JSON form; ask for binary data (parameters.binary_data))");
}

TEST_CASE("data that does not fill its shape is refused") {
  const auto data = [](std::string_view d) {
    return refusal(x_with(R"("datatype":"FP32","shape":[2,3],"data":)" + std::string(d)));
  };
  CHECK(data("[1,2,3]") == R"(input "x": data has 3 elements, shape [2,3] needs 6)");
  CHECK(data("[]") == R"(input "x": data has 0 elements, shape [2,3] needs 6)");
  CHECK(data("[1,2,3,4,5,6,7]") == R"(input "x": data has more than 6 elements, shape [2,3] needs 6)");
  CHECK(data("[[1,2,3],[4,5]]") == R"(input "x": data has 2 elements at level 2, shape [2,3] needs 3)");
  CHECK(data("[[1,2,3]]") == R"(input "x": data has 1 elements at level 1, shape [2,3] needs 2)");
  CHECK(data("[[1,2,3],4]") ==
        R"(input "x": data is nested, but element 3 is not 2 levels deep as in shape [2,3])");
  CHECK(data("[[[1],2,3],[4,5,6]]") ==
        R"(input "x": element 0 is "[1": FP32 needs a number (JSON has no NaN and no infinity))");
  CHECK(data("[1,2,3") == R"(malformed JSON at byte 71: expected ',' or ']', found the end)");
  CHECK(data("{}") == R"(malformed JSON at byte 62: expected an array, found "{}}]}")");
}

TEST_CASE("data beyond its shape is refused at the first excess element") {
  const auto data = [](std::string_view d) {
    return refusal(x_with(R"("datatype":"FP32","shape":[2,3],"data":)" + std::string(d)));
  };
  CHECK(data("[1,2,3,4,5,6,never read]") ==
        R"(input "x": data has more than 6 elements, shape [2,3] needs 6)");
  CHECK(data("[[1,2,3,never read],[4,5,6]]") ==
        R"(input "x": data has more than 3 elements at level 2, shape [2,3] needs 3)");
  CHECK(data("[[1,2,3],[4,5,6],never read]") ==
        R"(input "x": data has more than 2 elements at level 1, shape [2,3] needs 2)");
  CHECK(refusal(x_with(R"("datatype":"BYTES","shape":[1,2],"data":["a","b",0])"),
                one_input(data_type::bytes, {2})) ==
        R"(input "x": data has more than 2 elements, shape [1,2] needs 2)");
  CHECK(refusal(x_with(R"("datatype":"BOOL","shape":[1],"data":[true,0])"),
                one_input(data_type::boolean, {})) ==
        R"(input "x": data has more than 1 elements, shape [1] needs 1)");
}
