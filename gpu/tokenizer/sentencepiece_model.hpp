// Models of sentencepiece without the library, whose interfaces make one protobuf message for each piece,
// even for ids alone.
#pragma once
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/sentencepiece_check.hpp"
#include "gpu/tokenizer/sentencepiece_normalizer.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Gives the same ids as libsentencepiece. Immutable, thread-safe.
class sentencepiece_model {
 public:
  /// Null: the model is neither BPE nor Unigram, or uses a feature that is rare and left to the library:
  /// unused pieces, pieces of more than 256 bytes, spaces that are not escaped. `model`: checked.
  static std::unique_ptr<const sentencepiece_model> make(const sentencepiece_options& model);
  virtual ~sentencepiece_model() = default;

  /// Appends the tokens of `text` (UTF-8). `dummy_prefix`: adds a space before a text that is not empty.
  void append(std::string_view text, bool dummy_prefix, std::vector<token>& out) const;

 protected:
  /// Requires: the model has the features of this class.
  explicit sentencepiece_model(const sentencepiece_options& model);

  /// A character without a piece.
  void append_unknown(std::string_view character, std::vector<token>& out) const;

 private:
  virtual void encode(std::string_view normalized, std::vector<token>& out) const = 0;

  const sentencepiece_normalizer normalizer_;
  bool byte_fallback_ = false;
  token unknown_ = 0;
  std::array<token, 256> bytes_{};  // for byte_fallback_
};

/// The two kinds. `model`: as in `sentencepiece_model::make`, which checks that it has no feature for the
/// library.
std::unique_ptr<const sentencepiece_model> make_sentencepiece_bpe(const sentencepiece_options& model);
std::unique_ptr<const sentencepiece_model> make_sentencepiece_unigram(const sentencepiece_options& model);

/// Whether text can become the piece: neither a control, an unknown nor a byte piece.
inline bool is_ordinary(const sentencepiece_piece& p) {
  return p.type == sentencepiece_piece::normal || p.type == sentencepiece_piece::user_defined;
}

}  // namespace troupe::llm
