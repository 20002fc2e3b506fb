#include "gpu/tokenizer/sentencepiece_normalizer.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu/tokenizer/space_words.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    if (c == ' ')
      out += space_symbol;
    else
      out += c;
  }
}

}  // namespace

sentencepiece_normalizer::sentencepiece_normalizer(const sentencepiece_options& model)
    : remove_extra_whitespaces_(model.remove_extra_whitespaces), table_(model.normalizations) {
  uint32_t size = 0;
  if (!table_.empty()) std::memcpy(&size, table_.data(), sizeof size);
  array_bytes_ = size;
  std::vector<std::string> user_defined;
  for (const auto& p : model.pieces)
    if (p.type == sentencepiece_piece::user_defined) user_defined.push_back(p.text);
  user_defined_ = prefix_search(std::move(user_defined));
}

std::string sentencepiece_normalizer::normalize(std::string_view text, bool dummy_prefix) const {
  std::string out;
  if (!remove_extra_whitespaces_ && array_bytes_ == 0) {  // most language models
    out.reserve(text.size() * 3 / 2);
    if (dummy_prefix && !text.empty()) out += space_symbol;
    append_escaped(text, out);
    return out;
  }
  while (remove_extra_whitespaces_ && !text.empty()) {
    const auto r = first(text);
    if (r.by != " ") break;
    text.remove_prefix(r.bytes);
  }
  if (text.empty()) return out;
  out.reserve(text.size() * 3 / 2);
  if (dummy_prefix) out += space_symbol;
  bool behind_space = remove_extra_whitespaces_;
  while (!text.empty()) {
    auto r = first(text);
    while (behind_space && r.by.starts_with(' ')) r.by.remove_prefix(1);
    if (!r.by.empty()) {
      append_escaped(r.by, out);
      behind_space = remove_extra_whitespaces_ && r.by.ends_with(' ');
    }
    text.remove_prefix(r.bytes);
  }
  while (remove_extra_whitespaces_ && out.ends_with(space_symbol))
    out.resize(out.size() - space_symbol.size());
  return out;
}

/// Of a text that is not empty.
sentencepiece_normalizer::rewritten sentencepiece_normalizer::first(std::string_view text) const {
  if (const auto found = user_defined_.longest(text)) return {text.substr(0, found->size), found->size};
  if (const auto found = by_table(text)) return *found;
  size_t length = 0;
  first_character(text, length);
  return {text.substr(0, length), length};
}

uint32_t sentencepiece_normalizer::unit(size_t at) const {
  uint32_t value = 0;
  std::memcpy(&value, table_.data() + sizeof value * (1 + at), sizeof value);
  return value;
}

/// The longest match. The check of the model guarantees that all steps stay inside of the table.
std::optional<sentencepiece_normalizer::rewritten> sentencepiece_normalizer::by_table(
    std::string_view text) const {
  if (array_bytes_ == 0) return std::nullopt;
  const auto offset = [](uint32_t u) { return static_cast<size_t>(u >> 10) << ((u & (1U << 9)) >> 6); };
  constexpr uint32_t label = 1U << 31 | 0xff, has_value = 1U << 8, value = ~(1U << 31);
  std::optional<rewritten> found;
  size_t at = offset(unit(0));
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    at ^= byte;
    const auto u = unit(at);
    if ((u & label) != byte) break;
    at ^= offset(u);
    if ((u & has_value) == 0) continue;
    const auto* by = table_.data() + sizeof(uint32_t) + array_bytes_ + (unit(at) & value);
    found = rewritten{by, i + 1};
  }
  return found;
}

}  // namespace troupe::llm
