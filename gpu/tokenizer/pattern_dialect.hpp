#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// Translates a regular expression of tokenizer.json (Oniguruma's dialect) to an equivalent one of PCRE2.
/// Differences are written out: PCRE2's \s includes U+180E, and its \p{Han} uses script extensions. Throws
/// model_error for constructs that may differ: anchors, \w, back references, comments, verbs.
std::string to_pcre2(std::string_view pattern);

}  // namespace troupe::llm
