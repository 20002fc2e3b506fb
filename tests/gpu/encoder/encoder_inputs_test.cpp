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
