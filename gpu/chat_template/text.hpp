// Text as Python sees it: a sequence of code points, here in UTF-8. Indices and lengths are in code points
// unless a name says bytes. What is not UTF-8 is taken byte by byte and breaks nothing.
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

/// Each code point as a text of its own.
std::vector<std::string_view> characters(std::string_view s);

bool is_space(char32_t c);
bool all_space(std::string_view s);

/// Without the code points of `chars` at its ends; `chars` null: without white space.
std::string_view strip_left(std::string_view s, const std::string_view* chars = nullptr);
std::string_view strip_right(std::string_view s, const std::string_view* chars = nullptr);

/// Case by the C.UTF-8 locale's one-to-one mappings, and ß; Python's other one-to-many mappings (ligatures,
/// the final sigma) are not made.
std::string upper(std::string_view s);
std::string lower(std::string_view s);
std::string title(std::string_view s);
std::string capitalize(std::string_view s);

/// At white space if `separator` is null, which is not empty else. `most` splits, from the right if asked;
/// negative: all.
std::vector<std::string_view> split(std::string_view s, const std::string_view* separator, int64_t max_splits,
                                    bool from_right);
std::vector<std::string_view> split_lines(std::string_view s);

/// The byte where `part` begins at or after byte `from`, npos if nowhere; in linear time, which
/// std::string::find() does not promise.
size_t find(std::string_view s, std::string_view part, size_t from = 0);
size_t find_last(std::string_view s, std::string_view part);

/// How often `part` (not empty) occurs, without overlaps, counted up to `most`; negative: all.
size_t count(std::string_view s, std::string_view part, int64_t max_count = -1);

/// The first `most` of them; negative: all. An empty `part` is found around each code point.
std::string replace(std::string_view s, std::string_view part, std::string_view by, int64_t max_count);

/// As Python's repr writes it, with quotes.
std::string repr(std::string_view s);

/// As Python's json.dumps writes it, with quotes.
std::string json(std::string_view s, bool ascii);

}  // namespace troupe::llm::jinja::text
