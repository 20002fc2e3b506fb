#include "gpu/tokenizer/nfc.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

/// True if all characters are below U+0300, as in ASCII and Latin-1: these are composed.
bool surely_composed(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) < 0xcc; });
}

auto combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

std::vector<utf8proc_int32_t> decompose(std::string_view text) {
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  std::array<utf8proc_int32_t, 32> parts{};  // an upper bound for a character's decomposition
  while (!text.empty()) {
    size_t length = 0;
    const auto c = static_cast<utf8proc_int32_t>(first_character(text, length));
    int boundary = 0;
    const auto n = utf8proc_decompose_char(c, parts.data(), parts.size(), UTF8PROC_DECOMPOSE, &boundary);
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

}  // namespace

std::string nfc(std::string_view text) {
  if (surely_composed(text)) return std::string(text);
  auto characters = decompose(text);
  sort_marks(characters);
  const auto n = utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                                          static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  characters.resize(static_cast<size_t>(std::max<utf8proc_ssize_t>(n, 0)));
  std::string composed;
  composed.reserve(text.size());
  for (const auto c : characters) append_utf8(composed, static_cast<char32_t>(c));
  return composed;
}

}  // namespace troupe::llm
