#include "gpu/chat_template/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "gpu/chat_template/string_literal.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class lexer {
 public:
  explicit lexer(const source& s) : source_(s), text_(s.text) {}

  std::vector<token> run() {
    while (at_ < text_.size()) read_data();
    add(token_kind::end, text_.size());
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(size_t at, std::string_view what, std::string_view hint = "") const {
    jinja::fail(source_, static_cast<place>(at), what, hint);
  }

  void add(token_kind kind, size_t at, std::string_view text = "") {
    tokens_.push_back({kind, static_cast<place>(at), std::string(text)});
  }

  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool take(std::string_view s) {
    if (!text_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const auto end = text::next(text_, at_);
      if (!text::is_space(text::code_point(text_, at_, end))) return;
      at_ = end;
    }
  }

  /// Reads the text up to the next tag, and that tag.
  void read_data() {
    const auto from = at_;
    auto tag = text_.find('{', at_);
    while (tag != text_.npos &&
           (tag + 1 == text_.size() || std::string_view("{%#").find(text_[tag + 1]) == text_.npos))
      tag = text_.find('{', tag + 1);
    if (tag == text_.npos) {
      add_data(from, text_.size(), '+', false);
      at_ = text_.size();
      return;
    }
    const auto kind = text_[tag + 1];
    at_ = tag + 2;
    const auto sign = take_sign();
    add_data(from, tag, sign, kind != '{');
    if (kind == '#') return skip_comment(tag);
    if (kind == '%' && take_raw_begin()) return read_raw(tag);
    add(kind == '{' ? token_kind::print_begin : token_kind::block_begin, tag);
    read_tag(tag, kind == '{');
  }

  char take_sign() { return peek() == '-' || peek() == '+' ? text_[at_++] : '\0'; }

  /// Adds the text before a tag, without the white space that the tag's sign or lstrip_blocks removes.
  void add_data(size_t from, size_t to, char sign, bool strips_line) {
    auto data = text_.substr(from, to - from);
    if (sign == '-') {
      data = text::strip_right(data);
    } else if (sign != '+' && strips_line) {
      const auto line = data.rfind('\n') + 1;  // npos + 1 is 0
      if ((line > 0 || line_starts_) && text::all_space(data.substr(line))) data = data.substr(0, line);
    }
    if (!data.empty()) add(token_kind::data, from, data);
  }

  /// Skips the white space that -%} or trim_blocks removes behind a tag.
  void end_tag(char sign, bool trims) {
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && trims && peek() == '\n') {
      ++at_;
    }
    line_starts_ = text_[at_ - 1] == '\n';
  }

  void skip_comment(size_t begin) {
    const auto end = text_.find("#}", at_);
    if (end == text_.npos) fail(begin, "the comment is not closed", ": close it with #}");
    const auto sign = end > at_ && (text_[end - 1] == '-' || text_[end - 1] == '+') ? text_[end - 1] : '\0';
    at_ = end + 2;
    end_tag(sign, true);
  }

  bool take_raw_begin() {
    const auto back = at_;
    skip_space();
    if (take("raw")) {
      skip_space();
      if (take("-%}")) {
        end_tag('-', true);
        return true;
      }
      if (take("%}")) {
        end_tag('+', true);
        return true;
      }
    }
    at_ = back;
    return false;
  }

  void read_raw(size_t begin) {
    const auto from = at_;
    for (auto tag = text_.find("{%", at_); tag != text_.npos; tag = text_.find("{%", tag + 2)) {
      at_ = tag + 2;
      const auto sign = take_sign();
      skip_space();
      if (!take("endraw")) continue;
      skip_space();
      const auto end_sign = take_sign();
      if (!take("%}")) continue;
      add_data(from, tag, sign, true);
      end_tag(end_sign, true);
      return;
    }
    fail(begin, "the raw block is not closed", ": close it with {% endraw %}");
  }

  /// Reads the content of a tag, and its end.
  void read_tag(size_t begin, bool prints) {
    std::string open;  // open brackets
    const std::string_view end = prints ? "}}" : "%}";
    while (at_ < text_.size()) {
      const bool signed_end = peek() == '-' || (peek() == '+' && !prints);
      if (open.empty() && text_.substr(at_ + (signed_end ? 1 : 0)).starts_with(end)) {
        add(prints ? token_kind::print_end : token_kind::block_end, at_);
        const auto sign = signed_end ? text_[at_++] : '\0';
        at_ += 2;
        return end_tag(sign, !prints);
      }
      const auto before = at_;
      skip_space();
      if (at_ == before) read_token(open);
    }
    fail(begin, "the tag is not closed", fmt::format(": close it with {}", end));
  }

  void read_token(std::string& open) {
    const auto c = peek();
    if (text::is_digit(c)) return read_number();
    if (is_letter(c)) {
      const auto from = at_;
      while (is_letter(peek()) || text::is_digit(peek())) ++at_;
      return add(token_kind::name, from, text_.substr(from, at_ - from));
    }
    if (c == '\'' || c == '"') return read_string(c);
    constexpr std::string_view symbols[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                            "*",  "%",  "~",  "(",  ")",  "[",  "]", "{", "}",
                                            ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto from = at_;
    for (const auto s : symbols) {
      if (!take(s)) continue;
      balance(open, s.front(), from);
      return add(token_kind::symbol, from, s);
    }
    fail(at_, fmt::format("unexpected character '{}'", text_.substr(at_, text::next(text_, at_) - at_)));
  }

  void balance(std::string& open, char c, size_t at) const {
    constexpr std::string_view opening = "([{", closing = ")]}";
    if (opening.find(c) != opening.npos) open += c;
    const auto kind = closing.find(c);
    if (kind == closing.npos) return;
    if (open.empty() || open.back() != opening[kind]) fail(at, fmt::format("unexpected '{}'", c));
    open.pop_back();
  }

  /// The place behind the digits at `at`, which single underscores may separate; `at` if there are none.
  size_t digits(size_t at) const {
    const auto digit_at = [&](size_t i) { return i < text_.size() && text::is_digit(text_[i]); };
    if (!digit_at(at)) return at;
    while (digit_at(at) || (at < text_.size() && text_[at] == '_' && digit_at(at + 1))) ++at;
    return at;
  }

  void read_number() {
    const auto from = at_;
    auto end = digits(at_);
    bool real = false;
    if (text_.substr(end).starts_with('.') && digits(end + 1) > end + 1 &&
        (from == 0 || text_[from - 1] != '.')) {
      real = true;
      end = digits(end + 1);
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const auto exponent =
          end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+') ? end + 2 : end + 1;
      if (digits(exponent) > exponent) {
        real = true;
        end = digits(exponent);
      }
    }
    std::string number(text_.substr(from, end - from));
    number.erase(std::remove(number.begin(), number.end(), '_'), number.end());
    const bool prefixed =
        number == "0" && end < text_.size() && std::string_view("xXoObB").find(text_[end]) != text_.npos;
    if (prefixed) fail(from, "numbers with a base are not supported", ": write it in decimal digits");
    if (!real && number.size() > 1 && number[0] == '0' && number.find_first_not_of('0') != number.npos) {
      fail(from, "a number begins with 0");
    }
    at_ = end;
    add(real ? token_kind::real : token_kind::integer, from, number);
  }

  void read_string(char quote) {
    const auto from = at_++;
    const auto begin = at_;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (at_ >= text_.size()) fail(from, "the string is not closed", fmt::format(": close it with {}", quote));
    const auto decoded = decode_escapes(text_.substr(begin, at_ - begin));
    if (!decoded) fail(from, "an escape in the string is not supported", ": write the character itself");
    ++at_;
    add(token_kind::string, from, *decoded);
  }

  const source& source_;
  std::string_view text_;
  size_t at_ = 0;
  bool line_starts_ = true;  // the current text begins at the start of a line
  std::vector<token> tokens_;
};

}  // namespace

std::vector<token> tokenize(const source& s) { return lexer(s).run(); }

}  // namespace troupe::llm::jinja
