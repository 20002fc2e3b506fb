// Tokenizer of an encoder: a text, or a pair of texts, as one sequence of tokens with the model's tokens
// around them. Of tokenizer.json with WordPiece (BERT), Unigram (XLM-R)
// or byte-level BPE (RoBERTa).
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

struct encoded_text {
  std::vector<token> ids;
  std::vector<uint8_t> types;  ///< by token: `token_type_ids`
  size_t cut = 0;              ///< tokens of the texts that did not fit
};

/// Immutable, thread-safe. Invalid UTF-8 is read as U+FFFD; names of special tokens in a text become these
/// tokens, as in Transformers.
class encoder_tokenizer {
 public:
  virtual ~encoder_tokenizer() = default;

  /// The tokens of a text alone. Throws request_refused for a text that a sound tokenizer would not make: one
  /// that grows beyond bounds, or that a pattern cannot split.
  virtual std::vector<token> tokens(std::string_view text) const = 0;

  /// At most `max_tokens` with those around a text, which is cut at its end.
  virtual encoded_text encode(std::vector<token> text, size_t max_tokens) const = 0;
  /// Of a pair the longer text is cut first. Throws model_error if the tokenizer has no template for pairs.
  virtual encoded_text encode(std::vector<token> first, std::vector<token> second,
                              size_t max_tokens) const = 0;
  encoded_text encode(std::string_view text, size_t max_tokens) const {
    return encode(tokens(text), max_tokens);
  }

  /// Number of tokens around a text or a pair.
  virtual size_t added(bool pair) const = 0;
  /// Greater than every id.
  virtual uint32_t vocabulary() const = 0;
};

/// `text`: content of a tokenizer.json. `file`: its name for messages. Throws model_error, which names file,
/// place and fix.
std::shared_ptr<const encoder_tokenizer> make_encoder_tokenizer(std::string_view text,
                                                                const std::string& file);
/// The same of the tokenizer.json of a folder.
std::shared_ptr<const encoder_tokenizer> read_encoder_tokenizer(const std::filesystem::path& folder);

}  // namespace troupe::llm
