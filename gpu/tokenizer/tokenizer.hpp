// The tokenizer interface: text to tokens and back. Implemented for sentencepiece (`tokenizer.model`) and BPE
// (`tokenizer.json`): of bytes, as Llama 3 and Qwen2 have it, or of characters, as Gemma and Mixtral have it.
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

  /// `special`: adds the model's tokens around a text (BOS, and EOS if its configuration says so).
  /// `parse_special`: names of special tokens in the text become these tokens, as chat templates need; for
  /// user text in plain prompts, set it only if the reference tokenizer does. Invalid UTF-8 is read as
  /// U+FFFD. Throws request_refused for a text that cannot be split into words with bounded work, which does
  /// not occur with sound tokenizers and natural text.
  virtual std::vector<token> encode(std::string_view text, bool special, bool parse_special) const = 0;

  /// The text of all tokens. `skip_special`: leaves special tokens out. Ids out of range give no text.
  virtual std::string decode(const std::vector<token>& tokens, bool skip_special) const = 0;

  virtual uint32_t vocabulary() const = 0;
  /// The bytes of a single token, including a leading space, for logprobs; empty for special tokens.
  virtual std::string piece(token t) const = 0;
  /// The token as the vocabulary writes it: "Ġhello", "▁hello", "<0x0A>", "<|eot_id|>"; empty for ids out of
  /// range.
  virtual std::string name(token t) const = 0;
  virtual bool is_special(token t) const = 0;
  /// The special or added token with this name, e.g. "<|eot_id|>".
  virtual std::optional<token> find(std::string_view special) const = 0;
};

/// Reads tokenizer.json if present, else tokenizer.model; also the latter beside a tokenizer.json with
/// byte_fallback that is not supported. Throws model_error, which names file, place and fix.
std::shared_ptr<const tokenizer> read_tokenizer(const std::filesystem::path& folder);

}  // namespace troupe::llm
