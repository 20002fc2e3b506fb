#include "gpu/encoder/encoder_inputs.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

using namespace troupe;

namespace {

const std::array<llm::encoded_text, 2> two_texts{llm::encoded_text{{7, 8, 9}, {0, 0, 1}},
                                                 llm::encoded_text{{5}, {0}}};

template <class Integer>
std::vector<Integer> numbers_of(const std::vector<std::byte>& bytes) {
  std::vector<Integer> out(bytes.size() / sizeof(Integer));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

TEST_CASE("encoder inputs: texts are padded, in the order and the types of the signature") {
  model_signature s;
  s.inputs = {{"input_ids", data_type::int64, {4}},
              {"attention_mask", data_type::int64, {4}},
              {"token_type_ids", data_type::int64, {4}}};
  CHECK(numbers_of<int64_t>(encoder_inputs(two_texts, 1, s)) ==
        std::vector<int64_t>{7, 8, 9, 1, 5, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0});
  s.inputs = {{"attention_mask", data_type::int32, {3}}, {"input_ids", data_type::int32, {3}}};
  CHECK(numbers_of<int32_t>(encoder_inputs(two_texts, 2, s)) ==
        std::vector<int32_t>{1, 1, 1, 1, 0, 0, 7, 8, 9, 5, 2, 2});
}

TEST_CASE("encoder inputs: a signature takes texts if all its inputs are whole numbers of that length") {
  model_signature s;
  CHECK_FALSE(takes_texts(s, 4));
  s.inputs = {{"input_ids", data_type::int64, {4}}, {"attention_mask", data_type::int32, {4}}};
  CHECK(takes_texts(s, 4));
  CHECK_FALSE(takes_texts(s, 8));
  for (const auto& other : {tensor_spec{"x", data_type::fp32, {4}}, tensor_spec{"x", data_type::uint8, {4}},
                            tensor_spec{"x", data_type::int64, {4, 1}}}) {
    s.inputs[1] = other;
    CHECK_FALSE(takes_texts(s, 4));
  }
}
