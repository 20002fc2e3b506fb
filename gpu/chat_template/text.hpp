// Python's string functions on UTF-8. Indices and lengths are in code points, unless a name says bytes.
// Invalid UTF-8 is processed byte by byte, safely.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::llm::jinja::text {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_utf8(std::string_view s);

size_t length(std::string_view s);

/// The byte after the code point that begins at byte `at` < s.size().
size_t next(std::string_view s, size_t at);

/// The code point at bytes [at, end).
char32_t code_point(std::string_view s, size_t at, size_t end);

void append(std::string& s, char32_t c);

/// The code points, each as a text.
std::vector<std::string_view> characters(std::string_view s);

bool is_space(char32_t c);
bool all_space(std::string_view s);

/// Strip the code points of `chars` from the ends; null: white space.
std::string_view strip_left(std::string_view s, const std::string_view* chars = nullptr);
std::string_view strip_right(std::string_view s, const std::string_view* chars = nullptr);

/// Case mapping by the C.UTF-8 locale's one-to-one mappings, and ß; without Python's other one-to-many
/// mappings (ligatures, the final sigma).
std::string upper(std::string_view s);
std::string lower(std::string_view s);
std::string title(std::string_view s);
std::string capitalize(std::string_view s);

/// Splits at `separator`, which must not be empty; null: at white space. At most `max_splits` splits, from
/// the right if `from_right`; negative: all.
std::vector<std::string_view> split(std::string_view s, const std::string_view* separator, int64_t max_splits,
                                    bool from_right);
std::vector<std::string_view> split_lines(std::string_view s);

/// Byte offset of the first `part` at or after byte `from`; npos if there is none. In linear time, which
/// std::string::find() does not guarantee.
size_t find(std::string_view s, std::string_view part, size_t from = 0);
size_t find_last(std::string_view s, std::string_view part);

/// Number of occurrences of `part` (not empty) without overlaps, at most `max_count`; negative: no limit.
size_t count(std::string_view s, std::string_view part, int64_t max_count = -1);

/// Replaces the first `max_count` occurrences; negative: all. An empty `part` is found around each code
/// point.
std::string replace(std::string_view s, std::string_view part, std::string_view by, int64_t max_count);

/// Python's repr, with quotes.
std::string repr(std::string_view s);

/// Python's json.dumps of a string, with quotes. `ascii`: escapes other characters.
std::string json(std::string_view s, bool ascii);

}  // namespace troupe::llm::jinja::text
