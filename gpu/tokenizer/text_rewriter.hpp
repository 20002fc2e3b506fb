// Normalizers and pre-tokenizers of an encoder's tokenizer.json: how a text is rewritten, and split into
// words.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/tokenizer/json_place.hpp"

namespace troupe::llm {

/// Rewrites a text (UTF-8). Thread-safe.
using text_rewriter = std::function<std::string(std::string_view)>;
/// BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Precompiled, Prepend, Replace, Strip, StripAccents, and
/// sequences of them. `file`: of the place, for messages. Throws model_error for others, which it names.
text_rewriter read_normalizer(const json_place& normalizer, const std::string& file);

/// Appends the words of a text (UTF-8), none of them empty. Thread-safe.
using word_splitter = std::function<void(std::string_view, std::vector<std::string>&)>;
/// BertPreTokenizer, Metaspace, WhitespaceSplit, and sequences of them. Throws model_error for others.
word_splitter read_pre_tokenizer(const json_place& pre_tokenizer);

}  // namespace troupe::llm
