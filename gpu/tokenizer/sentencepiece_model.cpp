#include "gpu/tokenizer/sentencepiece_model.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "gpu/tokenizer/byte_token.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

// The work at a place of a text grows with the length of a piece.
constexpr size_t max_plain_piece = 256;

std::optional<uint8_t> byte_of(const sentencepiece_piece& p) {
  return p.type == sentencepiece_piece::byte ? byte_of_token(p.text) : std::nullopt;
}

bool is_single_character(std::string_view text) {
  size_t length = 0;
  first_character(text, length);
  return length == text.size();
}

/// Whether all features of the model are those of sentencepiece_model.
bool is_plain(const sentencepiece_options& model) {
  if (!model.escape_whitespaces) return false;
  std::unordered_set<std::string_view> texts;
  size_t bytes = 0, unknown = 0;
  for (const auto& p : model.pieces) {
    if (p.type == sentencepiece_piece::unused || p.text.size() > max_plain_piece) return false;
    // text never becomes one of these
    if (!is_ordinary(p) && is_single_character(p.text)) return false;
    if (!texts.insert(p.text).second) return false;
    bytes += byte_of(p).has_value();
    unknown += p.type == sentencepiece_piece::unknown;
  }
  return unknown == 1 && (bytes == 256 || !model.byte_fallback);
}

}  // namespace

std::unique_ptr<const sentencepiece_model> sentencepiece_model::make(const sentencepiece_options& model) {
  using kind = sentencepiece_options::kind;
  if (!is_plain(model)) return nullptr;
  if (model.type == kind::bpe) return make_sentencepiece_bpe(model);
  if (model.type == kind::unigram) return make_sentencepiece_unigram(model);
  return nullptr;
}

sentencepiece_model::sentencepiece_model(const sentencepiece_options& model)
    : normalizer_(model), byte_fallback_(model.byte_fallback) {
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& p = model.pieces[i];
    if (p.type == sentencepiece_piece::unknown) unknown_ = static_cast<token>(i);
    if (const auto byte = byte_of(p)) bytes_[*byte] = static_cast<token>(i);
  }
}

void sentencepiece_model::append(std::string_view text, bool dummy_prefix, std::vector<token>& out) const {
  const auto begin = static_cast<std::ptrdiff_t>(out.size());
  encode(normalizer_.normalize(text, dummy_prefix), out);
  if (byte_fallback_) return;
  // adjacent unknown characters are one token
  const auto both_unknown = [this](token a, token b) { return a == unknown_ && b == unknown_; };
  out.erase(std::unique(out.begin() + begin, out.end(), both_unknown), out.end());
}

void sentencepiece_model::append_unknown(std::string_view character, std::vector<token>& out) const {
  if (!byte_fallback_) return out.push_back(unknown_);
  for (const char c : character) out.push_back(bytes_[static_cast<uint8_t>(c)]);
}

}  // namespace troupe::llm
