#include "gpu/encoder/encoder_inputs.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace troupe {
namespace {

int64_t value_at(std::string_view input, const llm::encoded_text& text, size_t place, uint32_t padding) {
  const bool there = place < text.ids.size();
  if (input == "input_ids") return there ? int64_t{text.ids[place]} : int64_t{padding};
  if (input == "attention_mask") return there ? 1 : 0;
  return there ? text.types[place] : 0;
}

template <class Integer>
void write(std::byte* to, std::span<const llm::encoded_text> texts, uint32_t padding, const tensor_spec& t) {
  const auto tokens = static_cast<size_t>(t.shape.front());
  for (const auto& text : texts)
    for (size_t i = 0; i < tokens; ++i, to += sizeof(Integer)) {
      const auto value = static_cast<Integer>(value_at(t.name, text, i, padding));
      std::memcpy(to, &value, sizeof value);
    }
}

}  // namespace

bool takes_texts(const model_signature& signature, int64_t tokens) {
  return !signature.inputs.empty() && std::ranges::all_of(signature.inputs, [&](const tensor_spec& t) {
    const bool whole = t.type == data_type::int64 || t.type == data_type::int32;
    return whole && t.shape == std::vector<int64_t>{tokens};
  });
}

std::vector<std::byte> encoder_inputs(std::span<const llm::encoded_text> texts, uint32_t padding,
                                      const model_signature& signature) {
  std::vector<std::byte> out(texts.size() * input_row_bytes(signature));
  auto* to = out.data();
  for (const auto& t : signature.inputs) {
    t.type == data_type::int32 ? write<int32_t>(to, texts, padding, t)
                               : write<int64_t>(to, texts, padding, t);
    to += texts.size() * row_bytes(t);
  }
  return out;
}

}  // namespace troupe
