// Tokenizer for tokenizer.model, sentencepiece's format, used by Llama 2, Mistral and others.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/added_tokens.hpp"
#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe::llm {

/// Settings from the files beside a tokenizer.model.
struct sentencepiece_settings {
  bool add_bos = true;
  bool add_eos = false;
  /// Adds a space before text behind an added token, too, as before a text ("legacy").
  bool space_after_added = true;
  std::vector<added_token> added;
  /// The rules of Transformers' LlamaTokenizer in place of the model's: all spaces are kept, one is added
  /// before a text that begins with none, and nothing else is normalized.
  bool llama_rules = false;
  bool prefix_space = true;  ///< of LlamaTokenizer: adds that space
};

/// Reads config.json, tokenizer_config.json and added_tokens.json of `folder`, if present. The tokens of the
/// last one count as special, as it does not say, and users must not be able to write control tokens. As in
/// Transformers 5, a missing "legacy" is false for a LlamaTokenizer, else true; a Mistral, Mixtral or Phi-3
/// has a LlamaTokenizer's rules only if "legacy" is false, whatever its class.
sentencepiece_settings read_sentencepiece_settings(const std::filesystem::path& folder);

/// `model`: content of the file named `file`. Throws model_error if it is damaged.
std::shared_ptr<const tokenizer> make_sentencepiece_tokenizer(std::string_view model, const std::string& file,
                                                              sentencepiece_settings settings);

}  // namespace troupe::llm
