#include "gpu/tokenizer/pattern_dialect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

// White_Space and its complement as members of a class, by general categories
constexpr std::string_view space_class = R"(\p{Z}\x{09}-\x{0d}\x{85})";
constexpr std::string_view no_space =
    R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Cn}\p{Co}\x{00}-\x{08}\x{0e}-\x{1f}\x{7f}-\x{84}\x{86}-\x{9f})";

constexpr std::array<std::string_view, 8> groups{"?:", "?i:", "?=", "?!", "?<=", "?<!", "?>", "?-i:"};

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class translator {
 public:
  explicit translator(std::string_view pattern) : rest_(pattern), size_(pattern.size()) {}

  std::string translate() {
    while (!rest_.empty()) {
      if (in_class_) {
        class_member();
      } else {
        item();
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw model_error(fmt::format("at byte {} of the pattern {}", size_ - rest_.size(), what));
  }

  bool skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  void copy(size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }

  void copy_character() {
    size_t length = 0;
    first_character(rest_, length);
    copy(length);
  }

  /// Translates an item outside of classes.
  void item() {
    switch (rest_[0]) {
      case '\\': return escape();
      case '^':
      case '$': refuse(fmt::format("is the anchor '{}', which is not supported", rest_[0]));
      case '[':
        in_class_ = true;
        copy(1);
        if (rest_.starts_with('^')) copy(1);
        if (rest_.starts_with(']')) refuse("is an empty class or one that begins with ']': write \\]");
        return;
      case '(': return group();
      case '{': return repetition();
      default: return copy_character();
    }
  }

  void group() {
    copy(1);
    if (rest_.starts_with('*')) refuse("is a verb, which is not supported");
    if (!rest_.starts_with('?')) return;
    for (const auto g : groups) {
      if (rest_.starts_with(g)) return copy(g.size());
    }
    refuse("is a kind of group that is not supported; supported are (?:, (?i:, (?=, (?!, (?<=, (?<! and (?>");
  }

  void repetition() {
    const auto end = rest_.find('}');
    const auto counts = rest_.substr(1, end == std::string_view::npos ? end : end - 1);
    const auto comma = counts.find(',');
    const auto digits = [](std::string_view s) {
      return s.size() <= 4 && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    const auto min = counts.substr(0, comma);
    const auto max = comma == std::string_view::npos ? "" : counts.substr(comma + 1);
    if (end == std::string_view::npos || min.empty() || !digits(min) || !digits(max))
      refuse("is a '{' without a repetition like {1,3}: write \\{");
    copy(end + 1);
    if (rest_.starts_with('+')) refuse("is a '+' after a repetition, which is not supported");
  }

  void class_member() {
    if (rest_[0] == '\\') return escape();
    if (rest_[0] == '[') refuse("is a class in a class, which is not supported: write \\[ for a bracket");
    if (rest_.starts_with("&&")) refuse("is an intersection of classes, which is not supported");
    if (rest_[0] == ']') in_class_ = false;
    copy_character();
  }

  void escape() {
    if (rest_.size() == 1) refuse("is a '\\' at the end");
    const char c = rest_[1];
    if (c == 's' || c == 'S') return white_space(c == 's');
    if (c == 'p' || c == 'P') return property(c == 'P');
    if (c == 'u' || c == 'x') return character(c == 'u' ? 4 : 2);
    const bool letter_or_digit = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    const bool plain = static_cast<unsigned char>(c) < 0x80 && !letter_or_digit && !(c >= '0' && c <= '9');
    if (!plain && std::string_view("ntrfdD").find(c) == std::string_view::npos)
      refuse(fmt::format("is the escape '\\{}', which is not supported",
                         static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "?"));
    copy(2);
  }

  void white_space(bool is) {
    rest_.remove_prefix(2);
    const auto members = is ? space_class : no_space;
    out_ += in_class_ ? std::string(members) : fmt::format("[{}]", members);
  }

  void property(bool complement) {
    rest_.remove_prefix(2);
    if (!skip("{")) refuse("is a property that is not written like \\p{L}");
    const auto end = rest_.find('}');
    const auto name = rest_.substr(0, end);
    const bool sound =
        !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), [](char c) {
          return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
        });
    if (end == std::string_view::npos || !sound) refuse("is a property that is not written like \\p{L}");
    // one or two letters name a general category, longer names a script
    out_ += fmt::format("\\{}{{{}{}}}", complement ? 'P' : 'p', name.size() <= 2 ? "" : "sc:", name);
    rest_.remove_prefix(end + 1);
  }

  void character(size_t max_digits) {
    rest_.remove_prefix(2);
    const bool braces = max_digits == 2 && skip("{");
    size_t digits = 0;
    while (digits < rest_.size() && digits < (braces ? 6 : max_digits) && is_hex(rest_[digits])) ++digits;
    if (digits == 0 || (!braces && digits < max_digits)) refuse("is a character number without its digits");
    const auto number = std::stoul(std::string(rest_.substr(0, digits)), nullptr, 16);
    if (max_digits == 2 && !braces && number > 0x7f) refuse("is a byte, not a character: write \\x{..}");
    out_ += fmt::format("\\x{{{:x}}}", number);
    rest_.remove_prefix(digits);
    if (braces && !skip("}")) refuse("is a character number without its '}'");
  }

  std::string_view rest_;
  size_t size_;
  std::string out_;
  bool in_class_ = false;
};

}  // namespace

std::string to_pcre2(std::string_view pattern) { return translator(pattern).translate(); }

}  // namespace troupe::llm
