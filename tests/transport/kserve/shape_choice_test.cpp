#include "transport/kserve/shape_choice.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

using namespace troupe;

namespace {

/// x [side, side] to boxes [side / 2] and score [1].
model_signature square(int64_t side) {
  return {.inputs = {{"x", data_type::fp32, {side, side}}},
          .outputs = {{"boxes", data_type::fp32, {side / 2}}, {"score", data_type::fp32, {1}}}};
}

/// ids and mask [length] to states [length, 2] and pooled [2].
model_signature encoder(int64_t length) {
  return {.inputs = {{"ids", data_type::int64, {length}}, {"mask", data_type::fp32, {length}}},
          .outputs = {{"states", data_type::fp32, {length, 2}}, {"pooled", data_type::fp32, {2}}}};
}

const std::vector<model_signature> squares{square(4), square(8)}, encoders{encoder(2), encoder(4)};
const std::vector<uint32_t> lengths{2, 4};
const std::vector<input_constant> padded_with{{"ids", 9}, {"mask", 0}};
const padded_axis by_length{1, lengths, padded_with};

std::vector<sent_shape> ids_of(int64_t length) { return {{"ids", {3, length}}, {"mask", {3, length}}}; }

template <class T>
std::vector<std::byte> packed(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.data(), out.size());
  return out;
}

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

TEST_CASE("the shapes of a request are read without its values") {
  const auto sent = read_sent_shapes(
      {R"({"id":"7","inputs":[{"name":"x","datatype":"FP32","shape":[2,4,4],"data":[1,"any"]}]})", {}},
      squares[0]);
  REQUIRE(sent);
  REQUIRE(sent->size() == 1);
  CHECK((*sent)[0].name == "x");
  CHECK((*sent)[0].dims == std::vector<int64_t>{2, 4, 4});
  const auto refused = [](std::string_view json) {
    return read_sent_shapes({json, {}}, squares[0]).error().message;
  };
  CHECK(refused(R"({"inputs":[{"name":"x"}]})") == R"(input "x": "shape" is missing)");
  CHECK(refused("{}") == R"("inputs" is missing)");
  CHECK(refused(R"({"inputs":[{"name":"x","shape":[-1]}]})").find("is not a dimension") != std::string::npos);
  CHECK(refused(R"({"inputs":[{"name":"y","shape":[1]}]})") ==
        R"(input "y" is unknown; the model takes "x")");
  CHECK(refused(R"({"inputs":[{"name":"x","shape":[1]},{"name":"x","shape":[1]}]})") ==
        R"(input "x" occurs twice)");
  CHECK(refused("{").find("malformed JSON") != std::string::npos);
  CHECK(read_sent_shapes({{}, "raw"}, squares[0]).error().message.find("several shapes") !=
        std::string::npos);
}

TEST_CASE("a model with free dimensions takes the shapes of the request where they fit") {
  const model_signature open{.inputs = {{"x", data_type::fp32, {-1, 3, -1}}},
                             .outputs = {{"y", data_type::fp32, {-1, 4}}},
                             .batched = false};
  const auto given = given_shapes({{"x", {2, 3, 9}}}, open);
  REQUIRE(given);
  CHECK(given->inputs[0].shape == std::vector<int64_t>{2, 3, 9});
  CHECK(given->outputs[0].shape == std::vector<int64_t>{-1, 4});
  const auto refused = [&](std::vector<int64_t> dims) {
    return given_shapes({{"x", std::move(dims)}}, open).error().message;
  };
  CHECK(refused({2, 4, 9}) ==
        R"(input "x": shape [2,4,9] given, [-1,3,-1] expected, where -1 is any number)");
  CHECK_FALSE(refused({2, 3}).empty());
  CHECK_FALSE(refused({0, 3, 9}).empty());
  // products that wrap to 4 and to 0 bytes
  CHECK(refused({4611686018427387905, 3, 1}).find("which no memory holds") != std::string::npos);
  CHECK(refused({4294967296, 3, 1073741824}).find("which no memory holds") != std::string::npos);
}

TEST_CASE("the open signature of shapes for rows, and of one for whole requests, is one for rows") {
  const model_signature any{
      .inputs = {{"x", data_type::fp32, {-1, -1, -1}}},
      .outputs = {{"boxes", data_type::fp32, {-1, -1}}, {"score", data_type::fp32, {-1, 1}}},
      .batched = false};
  const auto open = open_signature(std::vector{square(4), any});
  CHECK(open.batched);
  CHECK(open.inputs[0].shape == std::vector<int64_t>{-1, -1});
  CHECK(open.outputs[0].shape == std::vector<int64_t>{-1});
  CHECK(open.outputs[1].shape == std::vector<int64_t>{1});
}

TEST_CASE("a request runs in the shape that it has, with any number of rows") {
  CHECK(*choose_shape({{"x", {1, 4, 4}}}, squares) == 0);
  CHECK(*choose_shape({{"x", {7, 8, 8}}}, squares) == 1);
  const auto refused = choose_shape({{"x", {1, 8, 4}}}, squares);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == 400);
  CHECK(refused.error().message ==
        R"(input "x": shape [1,8,4] given; the model has the shapes [-1,4,4], [-1,8,8])");
  CHECK_FALSE(choose_shape({{"x", {8, 8}}}, squares));
}

TEST_CASE("inputs whose shapes do not belong together are refused") {
  const auto refused = choose_shape({{"ids", {1, 2}}, {"mask", {1, 4}}}, encoders);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        R"(input "ids": shape [1,2] given; the model has the shapes [-1,2], [-1,4])");
}

TEST_CASE("the signature of all shapes is open where they differ") {
  const auto open = open_signature(squares);
  CHECK(open.inputs[0].shape == std::vector<int64_t>{-1, -1});
  CHECK(open.outputs[0].shape == std::vector<int64_t>{-1});
  CHECK(open.outputs[1].shape == std::vector<int64_t>{1});
  CHECK(open_signature(encoders).outputs[0].shape == std::vector<int64_t>{-1, 2});
}

TEST_CASE("a request is padded to the shortest length that it fits into") {
  const auto chosen = choose_length(ids_of(3), encoders, by_length);
  REQUIRE(chosen);
  CHECK(chosen->shape == 1);
  CHECK(chosen->sent.inputs[0].shape == std::vector<int64_t>{3});
  CHECK(chosen->sent.inputs[1].shape == std::vector<int64_t>{3});
  CHECK(chosen->sent.outputs[0].shape == std::vector<int64_t>{3, 2});
  CHECK(chosen->sent.outputs[1].shape == std::vector<int64_t>{2});
  CHECK(choose_length(ids_of(2), encoders, by_length)->shape == 0);
  CHECK(choose_length(ids_of(1), encoders, by_length)->shape == 0);
  CHECK(choose_length(ids_of(5), encoders, by_length).error().message ==
        R"(input "ids": dimension 1 is 5; the model takes 1 to 4)");
  CHECK_FALSE(choose_length(ids_of(0), encoders, by_length));
  CHECK(choose_length({{"ids", {3}}}, encoders, by_length).error().message ==
        R"(input "ids": shape [3] given, which has no dimension 1)");
  CHECK(choose_length({{"other", {3}}}, encoders, by_length));
}

TEST_CASE("inputs are padded with their values, and outputs cut back") {
  const auto sent = choose_length(ids_of(3), encoders, by_length)->sent;
  auto inputs = packed<int64_t>({1, 2, 3, 4, 5, 6});
  const auto mask = packed<float>({1, 1, 1, 1, 1, 1});
  inputs.insert(inputs.end(), mask.begin(), mask.end());
  std::vector<std::byte> padded(2 * input_row_bytes(encoders[1]), std::byte{0xff});
  pad_inputs(sent, encoders[1], 2, by_length, inputs, padded);
  const auto all = std::span<const std::byte>(padded);
  CHECK(values_of<int64_t>(all.first(64)) == std::vector<int64_t>{1, 2, 3, 9, 4, 5, 6, 9});
  CHECK(values_of<float>(all.subspan(64)) == std::vector<float>{1, 1, 1, 0, 1, 1, 1, 0});

  std::vector<float> outputs(2 * 4 * 2 + 2 * 2);
  std::iota(outputs.begin(), outputs.end(), 0.0F);
  const auto cut = cut_outputs(encoders[1], sent, 2, packed(outputs));
  CHECK(values_of<float>(cut) == std::vector<float>{0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 16, 17, 18, 19});
  CHECK(cut_outputs(encoders[1], sent, 2, packed<float>({1})).empty());
}

TEST_CASE("outputs that follow the length in another axis cannot be cut") {
  const auto scores = [](int64_t n) {
    return model_signature{.inputs = {{"ids", data_type::int64, {n}}},
                           .outputs = {{"states", data_type::fp32, {n}},
                                       {"scores", data_type::fp32, {n, n}},
                                       {"half", data_type::fp32, {n / 2}}}};
  };
  const std::vector<model_signature> shapes{scores(2), scores(4)};
  const auto chosen = choose_length({{"ids", {1, 3}}}, shapes, by_length);
  REQUIRE(chosen);
  CHECK(chosen->padded_outputs == std::vector<uint32_t>{1, 2});
  CHECK(choose_length(ids_of(3), encoders, by_length)->padded_outputs.empty());
}

TEST_CASE("inputs without rows, and of any rank, are padded in their first axis") {
  const auto of = [](int64_t n) {
    return model_signature{.inputs = {{"wave", data_type::boolean, {n}}, {"frames", data_type::fp16, {n, 2}}},
                           .outputs = {{"y", data_type::fp16, {n, 2}}},
                           .batched = false};
  };
  const std::vector<model_signature> shapes{of(1), of(3)};
  const std::vector<uint32_t> to{1, 3};
  const std::vector<input_constant> inputs{{"wave", 1}, {"frames", 0}};
  const padded_axis by{0, to, inputs};
  const auto chosen = choose_length({{"wave", {2}}, {"frames", {2, 2}}}, shapes, by);
  REQUIRE(chosen);
  REQUIRE(chosen->shape == 1);
  const std::vector<std::byte> sent{std::byte{0}, std::byte{1}, std::byte{1}, std::byte{2}, std::byte{3},
                                    std::byte{4}, std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
  std::vector<std::byte> into(3 + 12, std::byte{9});
  pad_inputs(chosen->sent, shapes[1], 1, by, sent, into);
  CHECK(values_of<uint8_t>(into) == std::vector<uint8_t>{0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0});
  CHECK(values_of<uint8_t>(cut_outputs(shapes[1], chosen->sent, 1, std::span(into).subspan(3))) ==
        std::vector<uint8_t>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a value pads the types that hold it") {
  CHECK(can_pad_with(data_type::uint8, 255));
  CHECK_FALSE(can_pad_with(data_type::uint8, 256));
  CHECK_FALSE(can_pad_with(data_type::uint8, -1));
  CHECK_FALSE(can_pad_with(data_type::int64, 0.5));
  CHECK(can_pad_with(data_type::fp32, 0.5));
  CHECK(can_pad_with(data_type::fp16, 0));
  CHECK_FALSE(can_pad_with(data_type::bf16, 1));
  CHECK_FALSE(can_pad_with(data_type::bytes, 0));
}
