#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "gpu/chat_template/filters.hpp"
#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

/// The digits at `at`, without the single underscores that may separate them. Moves `at` behind them.
std::string take_digits(std::string_view s, size_t& at) {
  std::string out;
  while (at < s.size()) {
    const bool joined = s[at] == '_' && !out.empty() && at + 1 < s.size() && text::is_digit(s[at + 1]);
    if (joined) ++at;
    if (!text::is_digit(s[at])) break;
    out += s[at++];
  }
  return out;
}

std::string take_sign(std::string_view s, size_t& at) {
  if (at < s.size() && (s[at] == '-' || s[at] == '+')) return s[at++] == '-' ? "-" : "";
  return "";
}

std::string_view stripped(std::string_view s) { return text::strip_left(text::strip_right(s)); }

/// Python's int() of a text; none where it throws ValueError.
std::optional<int64_t> read_integer(std::string_view s) {
  s = stripped(s);
  size_t at = 0;
  auto number = take_sign(s, at);
  const auto digits = take_digits(s, at);
  if (digits.empty() || at != s.size()) return std::nullopt;
  number += digits;
  int64_t out = 0;
  if (std::from_chars(number.data(), number.data() + number.size(), out).ec != std::errc{}) {
    throw refusal("'int': the number does not fit into 64 bits");
  }
  return out;
}

/// Python's float() of a text; none where it throws ValueError.
std::optional<double> read_real(std::string_view s) {
  s = stripped(s);
  size_t at = 0;
  auto number = take_sign(s, at);
  const auto word = text::lower(s.substr(at, std::min<size_t>(s.size() - at, 9)));
  if (word == "inf" || word == "infinity") return number.empty() ? HUGE_VAL : -HUGE_VAL;
  if (word == "nan") return std::nan("");
  const auto whole = take_digits(s, at);
  number += whole;
  std::string fraction;
  if (at < s.size() && s[at] == '.') {
    fraction = take_digits(s, ++at);
    number += '.' + fraction;
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (at < s.size() && (s[at] == 'e' || s[at] == 'E')) {
    number += 'e' + take_sign(s, ++at);
    const auto exponent = take_digits(s, at);
    if (exponent.empty()) return std::nullopt;
    number += exponent;
  }
  if (at != s.size()) return std::nullopt;
  return std::strtod(number.c_str(), nullptr);
}

int64_t truncated(double d) {
  if (!(std::abs(d) < 9.2e18)) throw refusal("'int': the number does not fit into 64 bits");
  return static_cast<int64_t>(d);
}

value otherwise(const filter_call& c, value v) { return c[0] != nullptr ? *c[0] : std::move(v); }

value to_integer(const filter_call& c) {
  if (is_undefined(c.input)) refuse_undefined(c.input);
  if (integer_argument(c.s, c.a, 1, 10) != 10) throw refusal("'int' supports base 10 only");
  if (int64_t n = 0; integer_of(c.input, n)) return n;
  if (const auto* d = std::get_if<double>(&c.input)) {
    return std::isnan(*d) ? otherwise(c, int64_t{0}) : truncated(*d);
  }
  const auto* t = text_of(c.input);
  if (t == nullptr) return otherwise(c, int64_t{0});
  c.cost.spend_bytes(t->size());
  if (const auto n = read_integer(*t)) return *n;
  const auto d = read_real(*t);
  return d && std::isfinite(*d) ? truncated(*d) : otherwise(c, int64_t{0});
}

value to_real(const filter_call& c) {
  if (is_undefined(c.input)) refuse_undefined(c.input);
  if (std::holds_alternative<double>(c.input)) return c.input;
  if (int64_t n = 0; integer_of(c.input, n)) return static_cast<double>(n);
  const auto* t = text_of(c.input);
  if (t == nullptr) return otherwise(c, 0.0);
  c.cost.spend_bytes(t->size());
  const auto d = read_real(*t);
  return d ? *d : otherwise(c, 0.0);
}

value absolute(const filter_call& c) {
  if (const auto* d = std::get_if<double>(&c.input)) return std::abs(*d);
  int64_t n = 0;
  if (integer_of(c.input, n)) return n < 0 ? negate(n) : n;
  if (is_undefined(c.input)) refuse_undefined(c.input);
  throw refusal(fmt::format("'abs' needs a number, not '{}'", type_name(c.input)));
}

value round(const filter_call& c) {
  const auto precision = integer_argument(c.s, c.a, 0, 0);
  const auto* method = text_argument(c.s, c.a, 1);
  const std::string_view how = method != nullptr ? std::string_view(*method) : "common";
  if (how != "common" && how != "ceil" && how != "floor") {
    throw refusal("'method' of 'round' must be common, ceil or floor");
  }
  int64_t n = 0;
  const auto* d = std::get_if<double>(&c.input);
  const bool whole = integer_of(c.input, n);
  if (is_undefined(c.input)) refuse_undefined(c.input);
  if (!whole && d == nullptr)
    throw refusal(fmt::format("'round' needs a number, not '{}'", type_name(c.input)));
  if (precision < 0 || precision > 300) throw refusal("'round' supports a precision from 0 to 300");
  if (how == "common") {
    if (whole) return n;
    if (!std::isfinite(*d)) return *d;
    // the exact decimal value, ties to even, like Python's round()
    return std::strtod(fmt::format("{:.{}f}", *d, precision).c_str(), nullptr);
  }
  const auto scale = std::pow(10.0, static_cast<double>(precision));
  const auto scaled = (whole ? static_cast<double>(n) : *d) * scale;
  if (!std::isfinite(scaled)) throw refusal("'round': the number is too large");
  return (how == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale +
         0.0;  // no minus zero: an int in Python
}

const filter number_table[] = {{{"int", {"default", "base"}}, to_integer},
                               {{"float", {"default"}}, to_real},
                               {{"abs"}, absolute},
                               {{"round", {"precision", "method"}}, round}};

}  // namespace

std::span<const filter> number_filters() { return number_table; }

}  // namespace troupe::llm::jinja
