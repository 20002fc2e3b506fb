#include "gpu/chat_template/format_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "gpu/chat_template/printing.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

constexpr int64_t max_precision = 300;  // beyond it a float has no other digits than zeros

struct format_options {
  std::string fill = " ";
  char align = 0;  // 0: of the type
  char sign = 0;
  bool alternate = false;
  int64_t width = 0;
  char group = 0;
  int64_t precision = -1;  // -1: none
  char type = 0;
};

[[noreturn]] void refuse_spec(std::string_view spec, const value& v) {
  throw refusal(
      fmt::format("the format specifier '{}' is not supported for a {}", spec.substr(0, 100), type_name(v)));
}

bool is_one_of(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

/// The parts of a specifier, by CPython's grammar. `default_align`: of the value's type.
class spec_parser {
 public:
  spec_parser(std::string_view spec, const value& v) : spec_(spec), of_(v) {}

  format_options parse(char default_align) {
    format_options o;
    const size_t second = spec_.empty() ? 0 : text::next(spec_, 0);
    const bool filled = second < spec_.size() && is_one_of("<>=^", spec_[second]);
    if (filled) {
      o.fill = spec_.substr(0, second);
      at_ = second;
    }
    o.align = take("<>=^");
    o.sign = take("+- ");
    o.alternate = take("#") != 0;
    if (!filled && take("0") != 0) {
      o.fill = "0";
      if (o.align == 0 && default_align == '>') o.align = '=';
    }
    o.width = std::max<int64_t>(number(), 0);
    o.group = take(",_");
    if (take(".") != 0 && (o.precision = number()) < 0) refuse_spec(spec_, of_);
    if (at_ < spec_.size()) o.type = spec_[at_++];
    if (at_ < spec_.size()) refuse_spec(spec_, of_);
    if (o.align == 0) o.align = default_align;
    return o;
  }

 private:
  char take(std::string_view set) {
    return at_ < spec_.size() && is_one_of(set, spec_[at_]) ? spec_[at_++] : '\0';
  }

  /// -1: there is none.
  int64_t number() {
    const auto begin = at_;
    int64_t n = 0;
    for (; at_ < spec_.size() && text::is_digit(spec_[at_]); ++at_) {
      n = n * 10 + (spec_[at_] - '0');
      if (n > static_cast<int64_t>(max_text_bytes)) refuse_spec(spec_, of_);
    }
    return at_ == begin ? -1 : n;
  }

  std::string_view spec_;
  const value& of_;
  size_t at_ = 0;
};

std::string padding(const format_options& o, int64_t count, budget& cost) {
  const auto n = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  cost.spend_bytes(n * o.fill.size());
  std::string out;
  for (uint64_t i = 0; i < n; ++i) out += o.fill;
  return out;
}

/// `lead`: a sign and a prefix, behind which the alignment = pads.
std::string aligned(const format_options& o, std::string_view lead, std::string_view body, budget& cost) {
  cost.spend_bytes(lead.size() + body.size());
  const auto left_over = o.width - static_cast<int64_t>(lead.size() + text::length(body));
  const auto all = std::max<int64_t>(left_over, 0);
  const auto before = o.align == '>' ? all : o.align == '^' ? all / 2 : 0;
  const auto inside = o.align == '=' ? all : 0;
  return padding(o, before, cost) + std::string(lead) + padding(o, inside, cost) + std::string(body) +
         padding(o, all - before - inside, cost);
}

std::string format_text(const value& v, std::string_view spec, budget& cost) {
  const auto o = spec_parser(spec, v).parse('<');
  if (o.align == '=' || o.sign != 0 || o.alternate || o.group != 0 || (o.type != 0 && o.type != 's'))
    refuse_spec(spec, v);
  std::string_view t = *text_of(v);
  cost.spend_bytes(t.size());
  if (o.precision >= 0) {
    size_t end = 0;
    for (int64_t i = 0; i < o.precision && end < t.size(); ++i) end = text::next(t, end);
    t = t.substr(0, end);
  }
  return aligned(o, "", t, cost);
}

std::string sign_of(const format_options& o, bool negative) {
  if (negative) return "-";
  return o.sign == '+' || o.sign == ' ' ? std::string(1, o.sign) : "";
}

/// Separates the leading digits of a number into groups.
std::string grouped(const format_options& o, std::string number, size_t group, const value& v,
                    std::string_view spec) {
  if (o.group == 0) return number;
  if (o.fill == "0" && o.align == '=') refuse_spec(spec, v);
  const auto is_hex_digit = [&](char c) {
    return text::is_digit(c) || (group == 4 && std::isxdigit(c) != 0);
  };
  const auto digits =
      static_cast<size_t>(std::find_if_not(number.begin(), number.end(), is_hex_digit) - number.begin());
  for (auto at = digits; at > group;) number.insert(at -= group, 1, o.group);
  return number;
}

std::string format_real(double d, const format_options& o, std::string_view spec, const value& v,
                        budget& cost) {
  if (o.alternate || o.precision > max_precision) refuse_spec(spec, v);
  const auto magnitude = std::abs(d) * (o.type == '%' ? 100 : 1);
  const auto precision = static_cast<int>(o.precision < 0 ? 6 : o.precision);
  std::string body;
  switch (o.type) {
    case 0:
      if (o.precision >= 0) refuse_spec(spec, v);
      body = number_text(magnitude);
      break;
    case 'e': body = fmt::format("{:.{}e}", magnitude, precision); break;
    case 'E': body = fmt::format("{:.{}E}", magnitude, precision); break;
    case '%':
    case 'f': body = fmt::format("{:.{}f}", magnitude, precision); break;
    case 'F': body = fmt::format("{:.{}F}", magnitude, precision); break;
    case 'g': body = fmt::format("{:.{}g}", magnitude, precision); break;
    case 'G': body = fmt::format("{:.{}G}", magnitude, precision); break;
    default: refuse_spec(spec, v);
  }
  if (o.type == '%') body += '%';
  return aligned(o, sign_of(o, std::signbit(d) && !std::isnan(d)), grouped(o, std::move(body), 3, v, spec),
                 cost);
}

std::string format_integer(int64_t n, const format_options& o, std::string_view spec, const value& v,
                           budget& cost) {
  if (o.type != 0 && is_one_of("eEfFgG%", o.type))
    return format_real(static_cast<double>(n), o, spec, v, cost);
  if (o.precision >= 0 || (o.type != 0 && !is_one_of("dboxX", o.type))) refuse_spec(spec, v);
  const auto magnitude = n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  const bool decimal = o.type == 0 || o.type == 'd';
  if (!decimal && o.group == ',') refuse_spec(spec, v);
  auto lead = sign_of(o, n < 0);
  if (o.alternate && !decimal) lead += {'0', o.type};
  std::string body;
  switch (o.type) {
    case 'b': body = fmt::format("{:b}", magnitude); break;
    case 'o': body = fmt::format("{:o}", magnitude); break;
    case 'x': body = fmt::format("{:x}", magnitude); break;
    case 'X': body = fmt::format("{:X}", magnitude); break;
    default: body = fmt::format("{}", magnitude);
  }
  return aligned(o, lead, grouped(o, std::move(body), decimal ? 3 : 4, v, spec), cost);
}

}  // namespace

std::string format_value(const value& v, std::string_view spec, budget& cost) {
  cost.spend_characters(spec.size());
  if (spec.empty()) return to_text(v, cost);
  if (text_of(v) != nullptr) return format_text(v, spec, cost);
  if (int64_t n = 0; integer_of(v, n))
    return format_integer(n, spec_parser(spec, v).parse('>'), spec, v, cost);
  if (const auto* d = std::get_if<double>(&v))
    return format_real(*d, spec_parser(spec, v).parse('>'), spec, v, cost);
  refuse_spec(spec, v);
}

}  // namespace troupe::llm::jinja
