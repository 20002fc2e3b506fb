#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// A regular expression as tokenizer.json writes it (Oniguruma's dialect), as one of PCRE2 that matches the
/// same. Where the two differ it is written out: PCRE2's \s has U+180E, too, and its \p{Han} looks at script
/// extensions. Throws model_error for what is not known to be the same: anchors, \w, back references,
/// comments, verbs.
std::string to_pcre2(std::string_view pattern);

}  // namespace troupe::llm
