// tokenizer.model: sentencepiece's own format, of Llama 2, Mistral and others.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/added_tokens.hpp"
#include "gpu/tokenizer/tokenizer.hpp"

namespace troupe::llm {

/// What the files beside a tokenizer.model say.
struct sentencepiece_settings {
  bool add_bos = true;
  bool add_eos = false;
  /// Text behind an added token begins with a space, too, as a text does ("legacy").
  bool space_after_added = true;
  std::vector<added_token> added;
};

/// Of tokenizer_config.json and added_tokens.json of `folder`, as far as they are there. The tokens of the
/// latter count as special: it does not say, and what users write must not steer the model.
sentencepiece_settings read_sentencepiece_settings(const std::filesystem::path& folder);

/// Reads `model`, the content of the file named `file`. Throws model_error if it is damaged.
std::shared_ptr<const tokenizer> make_sentencepiece_tokenizer(std::string_view model, const std::string& file,
                                                              sentencepiece_settings settings);

}  // namespace troupe::llm
