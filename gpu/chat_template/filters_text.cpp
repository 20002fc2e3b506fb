#include <fmt/format.h>

#include "gpu/chat_template/filters.hpp"
#include "gpu/chat_template/json_reader.hpp"
#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/printing.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

std::string input_text(const filter_call& c) {
  auto t = to_text(c.input, c.cost);
  c.cost.spend_bytes(t.size());
  return t;
}

template <std::string (*convert)(std::string_view)>
value converted(const filter_call& c) {
  const auto t = input_text(c);
  c.cost.spend_characters(t.size());
  return make_text(convert(t));
}

value string(const filter_call& c) {
  return text_of(c.input) != nullptr ? c.input : make_text(input_text(c));
}

value safe(const filter_call& c) { return string(c); }

value trim(const filter_call& c) {
  const auto t = input_text(c);
  const auto* given = text_argument(c.s, c.a, 0);
  if (given == nullptr) return make_text(text::strip_left(text::strip_right(t)));
  c.cost.spend((1 + t.size()) * (1 + given->size()) / 64);
  const std::string_view chars = *given;
  return make_text(text::strip_left(text::strip_right(t, &chars), &chars));
}

/// jinja2's title, unlike Python's: words begin only after - ( { [ < and white space.
std::string title_words(std::string_view s) {
  std::string out;
  std::string_view rest = s;
  const auto separates = [](std::string_view t, size_t at) {
    const auto end = text::next(t, at);
    return (end - at == 1 && std::string_view("-({[<").find(t[at]) != std::string_view::npos) ||
           text::is_space(text::code_point(t, at, end));
  };
  while (!rest.empty()) {
    const bool separator = separates(rest, 0);
    size_t end = 0;
    while (end < rest.size() && separates(rest, end) == separator) end = text::next(rest, end);
    out += text::capitalize(rest.substr(0, end));
    rest = rest.substr(end);
  }
  return out;
}

value replace(const filter_call& c) {
  const auto part = to_text(*c[0], c.cost), by = to_text(*c[1], c.cost);
  const auto* max_count = c[2];
  const auto times = max_count == nullptr || is_none(*max_count) ? -1 : integer_argument(c.s, c.a, 2, -1);
  return make_text(replace_bounded(input_text(c), part, by, times, c.cost));
}

value indent(const filter_call& c) {
  const auto* t = text_of(c.input);
  if (t == nullptr) throw refusal(fmt::format("'indent' needs a str, not '{}'", type_name(c.input)));
  const auto* given = c[0] != nullptr ? text_of(*c[0]) : nullptr;
  std::string by;
  if (given != nullptr) {
    by = *given;
  } else if (const auto width = integer_argument(c.s, c.a, 0, 4); width > 0) {
    c.cost.spend_bytes(static_cast<uint64_t>(width));
    by.assign(static_cast<size_t>(width), ' ');
  }
  const bool blank = truth_argument(c.s, c.a, 2, false);
  c.cost.spend_bytes(t->size() + 1);
  const auto whole = *t + '\n';
  const auto lines = text::split_lines(whole);
  c.cost.spend_bytes(whole.size() + lines.size() * by.size());
  std::string out = truth_argument(c.s, c.a, 1, false) ? by : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += by;
    out += lines[i];
  }
  return make_text(out);
}

value join(const filter_call& c) {
  const auto separator = c[0] != nullptr ? to_text(*c[0], c.cost) : "";
  const auto items = iterate(c.input, c.cost);
  std::string out;
  bool first = true;
  for (const auto& item : items->items) {
    c.cost.spend();
    const bool by_attribute = c[1] != nullptr && !is_none(*c[1]);
    const auto t = to_text(by_attribute ? get_path(item, *c[1], c.cost) : item, c.cost);
    if (out.size() + separator.size() + t.size() > max_text_bytes) c.cost.spend_bytes(max_text_bytes + 1);
    c.cost.spend((separator.size() + t.size()) / bytes_a_step);
    if (!first) out += separator;
    first = false;
    out += t;
  }
  return make_text(out);
}

value tojson(const filter_call& c) {
  json_style style;
  style.ascii = truth_argument(c.s, c.a, 0, false);
  if (const auto* indent = c[1]; indent != nullptr && !is_none(*indent)) {
    style.item_separator = ",";
    if (const auto* t = text_of(*indent)) {
      style.indent = *t;
    } else {
      const auto width = integer_argument(c.s, c.a, 1, 0);
      if (width > 1000) throw refusal("'tojson' indents by at most 1000");
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (const auto* separators = c[2]; separators != nullptr && !is_none(*separators)) {
    const auto* pair = sequence_of(*separators);
    const bool sound = pair != nullptr && pair->items.size() == 2 && text_of(pair->items[0]) != nullptr &&
                       text_of(pair->items[1]) != nullptr;
    if (!sound) throw refusal("'separators' of 'tojson' must be two strings, as (', ', ': ')");
    style.item_separator = *text_of(pair->items[0]);
    style.key_separator = *text_of(pair->items[1]);
  }
  style.sort_keys = truth_argument(c.s, c.a, 3, false);
  return make_text(to_json(c.input, style, c.cost));
}

value from_json_text(const filter_call& c) {
  if (is_undefined(c.input)) refuse_undefined(c.input);
  const auto* t = text_of(c.input);
  if (t == nullptr) throw refusal(fmt::format("'{}' needs a str, not '{}'", c.s.name, type_name(c.input)));
  return read_json_text(*t, c.cost);
}

const filter text_table[] = {{{"trim", {"chars"}}, trim},
                             {{"upper"}, converted<text::upper>},
                             {{"lower"}, converted<text::lower>},
                             {{"capitalize"}, converted<text::capitalize>},
                             {{"title"}, converted<title_words>},
                             {{"string"}, string},
                             {{"safe"}, safe},
                             {{"replace", {"old", "new", "count"}, 2}, replace},
                             {{"indent", {"width", "first", "blank"}}, indent},
                             {{"join", {"d", "attribute"}}, join},
                             {{"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}}, tojson},
                             {{"from_json"}, from_json_text},
                             {{"fromjson"}, from_json_text}};

}  // namespace

std::span<const filter> text_filters() { return text_table; }

}  // namespace troupe::llm::jinja
