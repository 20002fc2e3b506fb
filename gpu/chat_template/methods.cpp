#include "gpu/chat_template/methods.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "gpu/chat_template/format_string.hpp"
#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

struct call_of {
  const signature& s;
  const value& self;
  const arguments& a;
  budget& cost;

  const std::string& text() const { return *text_of(self); }
  const value* operator[](size_t at) const { return argument(s, a, at); }
};

template <std::string (*convert)(std::string_view)>
value converted(const call_of& c) {
  c.cost.spend_characters(c.text().size());
  return make_text(convert(c.text()));
}

template <bool left, bool right>
value strip(const call_of& c) {
  c.cost.spend_bytes(c.text().size());
  std::string_view t = c.text(), chars;
  const auto* given = text_argument(c.s, c.a, 0);
  if (given != nullptr) {
    c.cost.spend((1 + t.size()) * (1 + given->size()) / 64);
    chars = *given;
  }
  if (left) t = text::strip_left(t, given != nullptr ? &chars : nullptr);
  if (right) t = text::strip_right(t, given != nullptr ? &chars : nullptr);
  return make_text(t);
}

value list_of_texts(const std::vector<std::string_view>& pieces, budget& cost) {
  cost.spend(1 + pieces.size());
  std::vector<value> items;
  items.reserve(pieces.size());
  for (const auto p : pieces) items.push_back(make_text(p));
  return make_list(std::move(items));
}

template <bool from_right>
value split(const call_of& c) {
  c.cost.spend_bytes(c.text().size());
  const auto* given = text_argument(c.s, c.a, 0);
  if (given != nullptr && given->empty()) throw refusal("empty separator");
  const auto separator = given != nullptr ? std::string_view(*given) : std::string_view();
  const auto max_splits = integer_argument(c.s, c.a, 1, -1);
  return list_of_texts(text::split(c.text(), given != nullptr ? &separator : nullptr, max_splits, from_right),
                       c.cost);
}

value split_lines(const call_of& c) {
  c.cost.spend_bytes(c.text().size());
  return list_of_texts(text::split_lines(c.text()), c.cost);
}

template <bool at_end>
value matches(const call_of& c) {
  const auto is = [&](const value& v) {
    const auto* t = text_of(v);
    if (t == nullptr)
      throw refusal(fmt::format("'{}' takes a str or a tuple of them, not '{}'", c.s.name, type_name(v)));
    c.cost.spend_bytes(t->size());
    return at_end ? c.text().ends_with(*t) : c.text().starts_with(*t);
  };
  const auto* choices = sequence_of(*c[0], sequence_kind::tuple);
  return choices != nullptr ? std::any_of(choices->items.begin(), choices->items.end(), is) : is(*c[0]);
}

const std::string& needed_text(const call_of& c, size_t at) {
  const auto* t = text_argument(c.s, c.a, at);
  if (t == nullptr) throw refusal(fmt::format("'{}' of '{}' must be a str", c.s.parameters[at], c.s.name));
  return *t;
}

value replace(const call_of& c) {
  const auto &part = needed_text(c, 0), &by = needed_text(c, 1);
  const auto max_count = integer_argument(c.s, c.a, 2, -1);
  return make_text(replace_bounded(c.text(), part, by, max_count, c.cost));
}

template <bool last>
value find_text(const call_of& c) {
  c.cost.spend_bytes(c.text().size());
  const auto& part = needed_text(c, 0);
  const auto at = last ? text::find_last(c.text(), part) : text::find(c.text(), part);
  if (at == std::string::npos) return int64_t{-1};
  return static_cast<int64_t>(text::length(std::string_view(c.text()).substr(0, at)));
}

value count_text(const call_of& c) {
  c.cost.spend_bytes(c.text().size());
  const auto& part = needed_text(c, 0);
  const auto n = part.empty() ? text::length(c.text()) + 1 : text::count(c.text(), part);
  return static_cast<int64_t>(n);
}

value join(const call_of& c) {
  const auto items = iterate(*c[0], c.cost);
  std::string out;
  for (const auto& item : items->items) {
    const auto* t = text_of(item);
    if (t == nullptr) throw refusal(fmt::format("join: expected str, found '{}'", type_name(item)));
    c.cost.spend();
    if (&item != items->items.data()) out += c.text();
    if (out.size() + t->size() + c.text().size() > max_text_bytes) c.cost.spend_bytes(max_text_bytes + 1);
    out += *t;
  }
  c.cost.spend_bytes(out.size());
  return make_text(out);
}

template <bool at_end>
value remove(const call_of& c) {
  c.cost.spend_bytes(c.text().size());
  const auto& part = needed_text(c, 0);
  std::string_view t = c.text();
  if (at_end ? t.ends_with(part) : t.starts_with(part))
    t = t.substr(at_end ? 0 : part.size(), t.size() - part.size());
  return make_text(t);
}

value format_fields(const call_of& c) { return make_text(format_string(c.text(), c.a, c.cost)); }

template <sequence_kind kind>
value view(const call_of& c) {
  const auto& d = *dict_of(c.self);
  c.cost.spend(1 + d.items.size());
  std::vector<value> out;
  out.reserve(d.items.size());
  for (const auto& [key, item] : d.items) {
    if (kind == sequence_kind::keys_view) out.push_back(key);
    if (kind == sequence_kind::values_view) out.push_back(item);
    if (kind == sequence_kind::items_view) out.push_back(make_sequence(sequence_kind::tuple, {key, item}));
  }
  return make_sequence(kind, std::move(out));
}

value get(const call_of& c) {
  if (const auto* found = find(*dict_of(c.self), *c[0])) return *found;
  return c[1] != nullptr ? *c[1] : value(none{});
}

value count_items(const call_of& c) {
  const auto& items = sequence_of(c.self)->items;
  return static_cast<int64_t>(
      std::count_if(items.begin(), items.end(), [&](const value& v) { return equal(v, *c[0], c.cost); }));
}

value index_of(const call_of& c) {
  const auto& items = sequence_of(c.self)->items;
  const auto at =
      std::find_if(items.begin(), items.end(), [&](const value& v) { return equal(v, *c[0], c.cost); });
  if (at == items.end()) throw refusal("index: the value is not in the list");
  return static_cast<int64_t>(at - items.begin());
}

value cycle(const call_of& c) {
  if (c.a.positional.empty() || !c.a.named.empty())
    throw refusal("loop.cycle needs the values to cycle through");
  return c.a.positional[std::get<loop_state*>(c.self)->at % c.a.positional.size()];
}

struct method {
  signature s;
  value (*call)(const call_of&);
};

const method of_text[] = {{{"strip", {"chars"}}, strip<true, true>},
                          {{"lstrip", {"chars"}}, strip<true, false>},
                          {{"rstrip", {"chars"}}, strip<false, true>},
                          {{"split", {"sep", "maxsplit"}}, split<false>},
                          {{"rsplit", {"sep", "maxsplit"}}, split<true>},
                          {{"splitlines"}, split_lines},
                          {{"startswith", {"prefix"}, 1}, matches<false>},
                          {{"endswith", {"suffix"}, 1}, matches<true>},
                          {{"upper"}, converted<text::upper>},
                          {{"lower"}, converted<text::lower>},
                          {{"title"}, converted<text::title>},
                          {{"capitalize"}, converted<text::capitalize>},
                          {{"replace", {"old", "new", "count"}, 2}, replace},
                          {{"find", {"sub"}, 1}, find_text<false>},
                          {{"rfind", {"sub"}, 1}, find_text<true>},
                          {{"count", {"sub"}, 1}, count_text},
                          {{"join", {"iterable"}, 1}, join},
                          {{"removeprefix", {"prefix"}, 1}, remove<false>},
                          {{"removesuffix", {"suffix"}, 1}, remove<true>},
                          {{"format", {}, 0, true}, format_fields}};
const method of_dict[] = {{{"items"}, view<sequence_kind::items_view>},
                          {{"keys"}, view<sequence_kind::keys_view>},
                          {{"values"}, view<sequence_kind::values_view>},
                          {{"get", {"key", "default"}, 1}, get}};
const method of_list[] = {{{"count", {"value"}, 1}, count_items}, {{"index", {"value"}, 1}, index_of}};
const method of_loop[] = {{{"cycle", {}, 0, true}, cycle}};

using name_set = std::set<std::string_view>;
const name_set python_text = {
    "casefold",    "center",     "encode",    "expandtabs", "format_map", "index",     "isalnum",
    "isalpha",     "isascii",    "isdigit",   "isdecimal",  "islower",    "isnumeric", "isidentifier",
    "isprintable", "isspace",    "istitle",   "isupper",    "ljust",      "rjust",     "maketrans",
    "partition",   "rpartition", "translate", "zfill",      "swapcase",   "rindex"};
const name_set python_dict = {"copy", "fromkeys"}, python_list = {"copy"}, python_loop = {"changed"};
const name_set python_integer = {"bit_length", "bit_count", "conjugate", "denominator", "from_bytes",
                                 "imag",       "numerator", "real",      "to_bytes",    "as_integer_ratio"};
const name_set python_real = {"as_integer_ratio", "conjugate", "fromhex", "hex", "imag",
                              "is_integer",       "real"};
const name_set changes_dict = {"clear", "pop", "popitem", "setdefault", "update"};
const name_set changes_list = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
const name_set nothing;

struct attributes {
  const method* begin = nullptr;
  const method* end = nullptr;
  const name_set* unsupported = &nothing;
  const name_set* changes = &nothing;
};

attributes attributes_of(const value& v) {
  if (text_of(v) != nullptr) return {std::begin(of_text), std::end(of_text), &python_text, &nothing};
  if (dict_of(v) != nullptr) return {std::begin(of_dict), std::end(of_dict), &python_dict, &changes_dict};
  if (sequence_of(v, sequence_kind::list) != nullptr)
    return {std::begin(of_list), std::end(of_list), &python_list, &changes_list};
  if (sequence_of(v, sequence_kind::tuple) != nullptr) return {std::begin(of_list), std::end(of_list)};
  if (std::holds_alternative<loop_state*>(v)) return {std::begin(of_loop), std::end(of_loop), &python_loop};
  if (std::holds_alternative<double>(v)) return {nullptr, nullptr, &python_real};
  if (int64_t n = 0; integer_of(v, n)) return {nullptr, nullptr, &python_integer};
  return {};
}

const method* find_method(const attributes& of, std::string_view name) {
  const auto* m = std::find_if(of.begin, of.end, [&](const method& x) { return x.s.name == name; });
  return m == of.end ? nullptr : m;
}

}  // namespace

method_kind method_of(const value& v, std::string_view name) {
  const auto of = attributes_of(v);
  if (find_method(of, name) != nullptr) return method_kind::supported;
  if (of.changes->contains(name)) return method_kind::changes;
  return of.unsupported->contains(name) ? method_kind::unsupported : method_kind::none;
}

bool is_unsupported_method(std::string_view name) {
  return (name != "index" && python_text.contains(name)) || python_dict.contains(name) ||
         python_integer.contains(name) || python_real.contains(name) || python_loop.contains(name);
}

std::string method_names() {
  name_set all;
  for (const auto& m : of_text) all.insert(m.s.name);
  for (const auto& m : of_dict) all.insert(m.s.name);
  for (const auto& m : of_list) all.insert(m.s.name);
  return fmt::format("{}", fmt::join(all, ", "));
}

value call_method(const bound_method& m, const arguments& a, budget& cost) {
  const auto* found = find_method(attributes_of(m.self), m.name);
  check(found->s, a);
  return found->call({found->s, m.self, a, cost});
}

}  // namespace troupe::llm::jinja
