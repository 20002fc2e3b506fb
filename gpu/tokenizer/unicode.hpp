// Unicode's normalization forms, and the properties of characters that tokenizers ask for.
#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// Canonical or compatibility (k) decomposition, with (c) or without (d) composition.
enum class normal_form { nfc, nfd, nfkc, nfkd };

/// `text` (UTF-8) in that form, in O(n log n) time.
std::string normalize(std::string_view text, normal_form form);
std::string nfc(std::string_view text);

/// Of all characters, by Unicode's simple mapping; U+0130 becomes "i̇".
std::string lowercase(std::string_view text);
/// `text` (UTF-8) without characters of the categories M*, or of Mn.
std::string without_marks(std::string_view text);
std::string without_nonspacing_marks(std::string_view text);

bool is_white_space(char32_t c);
/// Categories Cc, Cf and Co.
bool is_control(char32_t c);
/// Categories P*.
bool is_punctuation(char32_t c);
/// A character of Chinese writing, as BERT's tokenizer defines it: eight blocks of ideographs.
bool is_ideograph(char32_t c);

}  // namespace troupe::llm
