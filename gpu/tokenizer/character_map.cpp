#include "gpu/tokenizer/character_map.hpp"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <cstdint>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/sentencepiece_check.hpp"

namespace troupe::llm {
namespace {

using sentencepiece::SentencePieceProcessor;

/// Appends fields of a protobuf message, as in SentencePiece's ModelProto.
void put_number(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7f) | 0x80);
  to += static_cast<char>(value);
}
void put_number(std::string& to, uint32_t field, uint64_t value) {
  put_number(to, field << 3);
  put_number(to, value);
}
void put_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  put_number(to, field << 3 | 2);
  put_number(to, bytes.size());
  to += bytes;
}

/// A model without any piece for characters: what it does not know, the whole rewritten text, is one piece.
std::string model_with(std::string_view table) {
  constexpr uint64_t unknown = 2, of_characters = 4, none = UINT64_MAX;
  std::string piece, trainer, normalizer, model;
  put_bytes(piece, 1, "<unk>");
  put_number(piece, 3, unknown);
  put_number(trainer, 3, of_characters);
  for (const uint32_t special : {41, 42, 43}) put_number(trainer, special, none);
  put_bytes(normalizer, 2, table);
  for (const uint32_t rule : {3, 4, 5}) put_number(normalizer, rule, false);  // spaces stay as they are
  put_bytes(model, 1, piece);
  put_bytes(model, 2, trainer);
  put_bytes(model, 3, normalizer);
  return model;
}

}  // namespace

struct character_map::state {
  SentencePieceProcessor processor;
};

character_map::character_map(std::string_view table, const std::string& file) {
  const auto model = model_with(table);
  check_sentencepiece(model, file);
  auto s = std::make_unique<state>();
  if (const auto status = s->processor.LoadFromSerializedProto(model); !status.ok())
    throw model_error(fmt::format("{}: sentencepiece cannot use its table: {}", file, status.ToString()));
  state_ = std::move(s);
}
character_map::~character_map() = default;
character_map::character_map(character_map&&) noexcept = default;

std::string character_map::operator()(std::string_view text) const {
  std::vector<std::string> pieces;
  if (const auto status = state_->processor.Encode({text.data(), text.size()}, &pieces); !status.ok())
    throw model_error(fmt::format("sentencepiece cannot rewrite a text: {}", status.ToString()));
  std::string out;
  for (const auto& p : pieces) out += p;
  return out;
}

}  // namespace troupe::llm
