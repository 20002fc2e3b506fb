#include "gpu/tokenizer/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

/// True if all characters are below U+0300, as in ASCII and Latin-1: these are composed.
bool surely_composed(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0xcc; });
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

auto combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

std::vector<utf8proc_int32_t> decompose(std::string_view text, bool compatibility) {
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE |
                                                      (compatibility ? UTF8PROC_COMPAT : UTF8PROC_STABLE));
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  std::array<utf8proc_int32_t, 32> parts{};  // an upper bound for a character's decomposition
  while (!text.empty()) {
    size_t length = 0;
    const auto c = static_cast<utf8proc_int32_t>(first_character(text, length));
    int boundary = 0;
    const auto n = utf8proc_decompose_char(c, parts.data(), parts.size(), options, &boundary);
    if (n < 1 || n > static_cast<utf8proc_ssize_t>(parts.size())) {
      characters.push_back(c);
    } else {
      characters.insert(characters.end(), parts.begin(), parts.begin() + n);
    }
    text.remove_prefix(length);
  }
  return characters;
}

/// Sorts marks into canonical order. utf8proc_map uses a quadratic sort: minutes for a prompt of a million
/// combining marks.
void sort_marks(std::vector<utf8proc_int32_t>& characters) {
  for (auto from = characters.begin(); from != characters.end();) {
    if (combining_class(*from) == 0) {
      ++from;
      continue;
    }
    const auto to = std::find_if(from, characters.end(), [](auto c) { return combining_class(c) == 0; });
    std::stable_sort(from, to, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    from = to;
  }
}

utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

std::string without(std::string_view text, std::initializer_list<utf8proc_category_t> categories) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = 0;
    const auto category = category_of(first_character(text, length));
    if (std::ranges::find(categories, category) == categories.end()) out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

struct character_range {
  char32_t first, last;
};
bool within(std::span<const character_range> ranges, char32_t c) {
  return std::ranges::any_of(ranges, [c](const auto& r) { return r.first <= c && c <= r.last; });
}

}  // namespace

std::string normalize(std::string_view text, normal_form form) {
  const bool compatibility = form == normal_form::nfkc || form == normal_form::nfkd;
  if (compatibility ? is_ascii(text) : form == normal_form::nfc ? surely_composed(text) : is_ascii(text))
    return std::string(text);
  auto characters = decompose(text, compatibility);
  sort_marks(characters);
  if (form == normal_form::nfc || form == normal_form::nfkc) {
    const auto n =
        utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    characters.resize(static_cast<size_t>(std::max<utf8proc_ssize_t>(n, 0)));
  }
  std::string out;
  out.reserve(text.size());
  for (const auto c : characters) append_utf8(out, static_cast<char32_t>(c));
  return out;
}

std::string nfc(std::string_view text) { return normalize(text, normal_form::nfc); }

std::string lowercase(std::string_view text) {
  constexpr char32_t dotted_capital_i = 0x130;
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = 0;
    const auto c = first_character(text, length);
    if (c == dotted_capital_i)
      out += "i\u0307";
    else
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    text.remove_prefix(length);
  }
  return out;
}

std::string without_marks(std::string_view text) {
  return without(text, {UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MC, UTF8PROC_CATEGORY_ME});
}

std::string without_nonspacing_marks(std::string_view text) { return without(text, {UTF8PROC_CATEGORY_MN}); }

bool is_white_space(char32_t c) {
  static constexpr character_range spaces[] = {
      {0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
      {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
  return within(spaces, c);
}

bool is_control(char32_t c) {
  const auto category = category_of(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return true;
    default: return false;
  }
}

bool is_ideograph(char32_t c) {
  static constexpr character_range ideographs[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                                   {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                                   {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return within(ideographs, c);
}

}  // namespace troupe::llm
