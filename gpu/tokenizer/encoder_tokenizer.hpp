// Tokenizer of an encoder: a text, or a pair of texts, as one sequence of tokens with the model's tokens
// around them. Of tokenizer.json with WordPiece (BERT) or Unigram (XLM-R).
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

  /// At most `most` tokens: the text is cut at its end. Requires: most >= added(false).
  virtual encoded_text encode(std::string_view text, size_t most) const = 0;
  /// The longer text is cut first. Requires: most >= added(true). Throws model_error if the tokenizer has no
  /// template for pairs.
  virtual encoded_text encode(std::string_view first, std::string_view second, size_t most) const = 0;
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
