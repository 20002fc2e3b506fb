// BPE: a text is split into words; a word's bytes or characters are tokens; adjacent tokens are merged, the
// merge of the best rank first, until none applies.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gpu/tokenizer/bpe_symbols.hpp"
#include "gpu/tokenizer/merge_table.hpp"
#include "gpu/tokenizer/tokenizer.hpp"
#include "gpu/tokenizer/tokenizer_json.hpp"

namespace troupe::llm {

/// Results equal those of the Python package `tokenizers`; bytes without a token are left out, as there.
/// Exceptions: a byte-level BPE decodes an added token like "café" literally, not through the byte alphabet;
/// with byte_fallback, tokens of bytes that are not UTF-8 decode as elsewhere, where the package writes one
/// U+FFFD for each byte of their run.
class bpe_tokenizer final : public tokenizer {
 public:
  explicit bpe_tokenizer(tokenizer_json file);

  /// Throws request_refused for a text that a pattern cannot split within its limits.
  std::vector<token> encode(std::string_view text, bool special, bool parse_special) const override;
  std::string decode(const std::vector<token>& tokens, bool skip_special) const override;
  uint32_t vocabulary() const override { return static_cast<uint32_t>(file_.vocabulary.size()); }
  std::string piece(token t) const override;
  std::string name(token t) const override;
  bool is_special(token t) const override;
  std::optional<token> find(std::string_view special) const override;

 private:
  class word_encoder;

  void encode_part(const text_part& part, size_t step, word_encoder& words) const;
  const tokenizer_json::entry* entry(token t) const;

  const tokenizer_json file_;
  const std::unique_ptr<const bpe_symbols> symbols_;
  merge_table merges_;
  std::unordered_map<std::string_view, token> words_;  // only for ignore_merges; keys point into file_
};

}  // namespace troupe::llm
