#include "gpu/chat_template/format_string.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "gpu/chat_template/format_spec.hpp"
#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/printing.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

constexpr int deepest_format = 2;  // specifiers with fields, as in Python's string.Formatter

struct replacement_field {
  std::string_view name, conversion, spec;
};

/// Splits a format into literal text and fields, by CPython's rules.
class format_reader {
 public:
  explicit format_reader(std::string_view format) : format_(format) {}

  bool at_end() const { return at_ == format_.size(); }

  /// The text before the next field, or up to and with an escaped brace.
  std::string_view take_literal() {
    const auto begin = at_;
    at_ = std::min(format_.find_first_of("{}", at_), format_.size());
    if (at_end()) return format_.substr(begin);
    if (at_ + 1 < format_.size() && format_[at_ + 1] == format_[at_]) {
      at_ += 2;
      return format_.substr(begin, at_ - 1 - begin);
    }
    if (format_[at_] == '}' || at_ + 1 == format_.size())
      throw refusal(fmt::format("format: single '{}'; write it twice for the character", format_[at_]));
    has_field_ = true;
    return format_.substr(begin, at_++ - begin);
  }

  /// The field behind the literal text, if there is one.
  std::optional<replacement_field> take_field() {
    if (!std::exchange(has_field_, false)) return std::nullopt;
    replacement_field f;
    f.name = take_name();
    const char end = format_[at_++];
    if (end == '}') return f;
    if (end == '!') {
      if (at_end()) refuse_unclosed();
      f.conversion = format_.substr(at_, text::next(format_, at_) - at_);
      at_ += f.conversion.size();
      if (at_end()) refuse_unclosed();
      const char next = format_[at_++];
      if (next == '}') return f;
      if (next != ':') throw refusal("format: a conversion must be followed by ':' or '}'");
    }
    f.spec = take_spec();
    return f;
  }

 private:
  [[noreturn]] static void refuse_unclosed() { throw refusal("format: a field is not closed with '}'"); }

  /// Ends before }, : or !.
  std::string_view take_name() {
    const auto begin = at_;
    for (; !at_end(); ++at_) {
      const char c = format_[at_];
      if (c == '{') throw refusal("format: '{' in the name of a field");
      if (c == '}' || c == ':' || c == '!') return format_.substr(begin, at_ - begin);
      if (c != '[') continue;
      at_ = format_.find(']', at_);
      if (at_ == std::string_view::npos) refuse_unclosed();
    }
    refuse_unclosed();
  }

  /// Ends behind the field's }.
  std::string_view take_spec() {
    const auto begin = at_;
    for (int open = 1; !at_end();) {
      const char c = format_[at_++];
      open += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (open == 0) return format_.substr(begin, at_ - 1 - begin);
    }
    refuse_unclosed();
  }

  std::string_view format_;
  size_t at_ = 0;
  bool has_field_ = false;
};

bool is_number(std::string_view s) { return !s.empty() && std::all_of(s.begin(), s.end(), text::is_digit); }

/// Throws refusal if the number is too large for any index.
size_t argument_number(std::string_view digits) {
  if (digits.size() > 9) throw refusal("format: too many digits in the number of a field");
  size_t n = 0;
  for (const char c : digits) n = n * 10 + static_cast<size_t>(c - '0');
  return n;
}

class field_formatter {
 public:
  field_formatter(const arguments& a, budget& cost) : arguments_(a), cost_(cost) {}

  std::string format(std::string_view format, int depth) {
    if (depth < 0) throw refusal("format: specifiers are nested too deeply");
    cost_.spend_characters(format.size());
    std::string out;
    for (format_reader reader(format); !reader.at_end();) {
      append(out, reader.take_literal());
      const auto field = reader.take_field();
      if (!field) continue;
      const auto v = converted(value_of(numbered(field->name)), field->conversion);
      append(out, format_value(v, this->format(field->spec, depth - 1), cost_));
    }
    return out;
  }

 private:
  void append(std::string& out, std::string_view s) {
    if (out.size() + s.size() > max_text_bytes) cost_.spend_bytes(out.size() + s.size());  // throws
    cost_.spend(1 + s.size() / bytes_a_step);
    out += s;
  }

  /// The name of a field, with a number if it is empty.
  std::string numbered(std::string_view name) {
    const bool automatic = name.empty();
    if (!automatic && !is_number(name)) return std::string(name);
    if (automatic ? next_ < 0 : next_ > 0)
      throw refusal("format: fields are numbered either all or not at all");
    if (automatic) return fmt::format("{}", next_++);
    next_ = -1;
    return std::string(name);
  }

  value value_of(const std::string& path) {
    const std::string_view p = path;
    auto at = std::min(p.find_first_of(".["), p.size());
    auto v = argument_of(p.substr(0, at));
    while (at < p.size()) {
      cost_.spend();
      const bool is_key = p[at] == '[';
      if (!is_key && p[at] != '.') throw refusal("format: only '.' or '[' may follow ']'");
      const auto begin = ++at;
      at = is_key ? p.find(']', at) : std::min(p.find_first_of(".[", at), p.size());
      if (at == std::string_view::npos) throw refusal("format: a '[' is not closed with ']'");
      const auto name = p.substr(begin, at - begin);
      if (name.empty()) throw refusal("format: a field has an empty name");
      if (is_key) ++at;
      if (!is_key)
        v = get_attribute(v, name, cost_);
      else if (is_number(name))
        v = get_item(v, static_cast<int64_t>(argument_number(name)), cost_);
      else
        v = get_item(v, make_text(name), cost_);
    }
    return v;
  }

  const value& argument_of(std::string_view name) const {
    if (is_number(name)) {
      const auto at = argument_number(name);
      if (at >= arguments_.positional.size())
        throw refusal(fmt::format("format: there is no argument {}", at));
      return arguments_.positional[at];
    }
    for (const auto& [known, v] : arguments_.named)
      if (known == name) return v;
    throw refusal(fmt::format("format: there is no argument '{}'", name.substr(0, 100)));
  }

  value converted(const value& v, std::string_view conversion) {
    if (conversion.empty()) return v;
    if (conversion == "s") return make_text(to_text(v, cost_));
    if (conversion == "r") return make_text(to_repr(v, cost_));
    throw refusal(fmt::format("format: the conversion '!{}' is not supported", conversion));
  }

  const arguments& arguments_;
  budget& cost_;
  int64_t next_ = 0;  // number of the next field without a name; -1: fields have numbers
};

}  // namespace

std::string format_string(std::string_view format, const arguments& a, budget& cost) {
  return field_formatter(a, cost).format(format, deepest_format);
}

}  // namespace troupe::llm::jinja
