// Text to tokens and back: sentencepiece (`tokenizer.model`) and byte-level BPE (`tokenizer.json` of Llama 3
// and Qwen2).
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Immutable, thread-safe.
class tokenizer {
 public:
  virtual ~tokenizer() = default;

  /// `special`: adds what the model wants around a text (a BOS, an EOS if its configuration says so). What
  /// looks like a special token in the text becomes that token only if `parse_special`, as chat templates
  /// need it; never for what users write into a plain prompt unless the peer's tokenizer does so, too. `text`
  /// that is not UTF-8 is read with U+FFFD for what is wrong. Throws request_refused for a text that cannot
  /// be cut into words with bounded work, which no sound tokenizer and no human's text brings about.
  virtual std::vector<token> encode(std::string_view text, bool special, bool parse_special) const = 0;

  /// The text of all tokens, as one; special tokens are left out if `skip_special`. Ids out of range are
  /// nothing.
  virtual std::string decode(const std::vector<token>& tokens, bool skip_special) const = 0;

  virtual uint32_t vocabulary() const = 0;
  /// The bytes that a token stands for by itself (a leading space included), for logprobs; empty for special
  /// ones.
  virtual std::string piece(token t) const = 0;
  virtual bool is_special(token t) const = 0;
  /// The token that is written so, e.g. "<|eot_id|>": a special one or another that was added to the
  /// vocabulary by name.
  virtual std::optional<token> find(std::string_view special) const = 0;
};

/// Reads tokenizer.json if it is there, else tokenizer.model. Throws model_error, naming file, place and fix.
std::shared_ptr<const tokenizer> read_tokenizer(const std::filesystem::path& folder);

}  // namespace troupe::llm
