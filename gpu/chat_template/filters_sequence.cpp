#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gpu/chat_template/filters.hpp"
#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

value count(const filter_call& c) { return length(c.input, c.cost); }

value default_value(const filter_call& c) {
  const bool replaced = is_undefined(c.input) || (truth_argument(c.s, c.a, 1, false) && !truth(c.input));
  if (!replaced) return c.input;
  return c[0] != nullptr ? *c[0] : make_text("");
}

/// Takes only one item from a generator.
value first(const filter_call& c) {
  if (const auto* s = sequence_of(c.input, sequence_kind::generator);
      s != nullptr && s->taken < s->items.size())
    return s->items[s->taken++];
  const auto items = iterate(c.input, c.cost);
  return items->items.empty() ? make_undefined("there is no first item: the list is empty")
                              : items->items.front();
}

value last(const filter_call& c) {
  if (sequence_of(c.input, sequence_kind::generator) != nullptr) {
    throw refusal("a generator has no last item: make a list of it with | list");
  }
  const auto items = iterate(c.input, c.cost);
  return items->items.empty() ? make_undefined("there is no last item: the list is empty")
                              : items->items.back();
}

value list(const filter_call& c) {
  auto items = iterate(c.input, c.cost);
  if (items->kind == sequence_kind::list) return items;
  c.cost.spend_items(items->items.size());
  return make_list(items->items);
}

value items(const filter_call& c) {
  const auto* d = dict_of(c.input);
  if (d == nullptr && !is_undefined(c.input)) {
    throw refusal(fmt::format("'items' needs a dict, not '{}'", type_name(c.input)));
  }
  std::vector<value> out;
  if (d != nullptr) {
    c.cost.spend(1 + d->items.size());
    for (const auto& [key, item] : d->items) out.push_back(make_sequence(sequence_kind::tuple, {key, item}));
  }
  return make_generator(std::move(out));
}

value reverse(const filter_call& c) {
  if (text_of(c.input) != nullptr) return get_slice(c.input, none{}, none{}, int64_t{-1}, c.cost);
  const bool once = sequence_of(c.input, sequence_kind::generator) != nullptr;
  const auto given = iterate(c.input, c.cost);
  c.cost.spend_items(given->items.size());
  std::vector<value> out(given->items.rbegin(), given->items.rend());
  return once ? make_list(std::move(out)) : make_generator(std::move(out));
}

value key_of(const value& v, bool case_sensitive, budget& cost) {
  const auto* t = text_of(v);
  if (t == nullptr || case_sensitive) return v;
  cost.spend_characters(t->size());
  return make_text(text::lower(*t));
}

/// Stable sort by the first of each pair.
value sorted(std::vector<std::pair<value, value>> keyed, bool reversed, budget& cost) {
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reversed ? less(b.first, a.first, cost) : less(a.first, b.first, cost);
  });
  std::vector<value> out;
  out.reserve(keyed.size());
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return make_list(std::move(out));
}

value sort(const filter_call& c) {
  const bool reversed = truth_argument(c.s, c.a, 0, false),
             case_sensitive = truth_argument(c.s, c.a, 1, false);
  std::vector<value> paths;
  if (const auto* given = c[2]; given != nullptr && text_of(*given) != nullptr) {
    const std::string_view comma = ",";
    for (const auto path : text::split(*text_of(*given), &comma, -1, false)) paths.push_back(make_text(path));
  } else {
    paths.push_back(given != nullptr ? *given : value(none{}));
  }
  const auto given = iterate(c.input, c.cost);
  std::vector<std::pair<value, value>> keyed;
  for (const auto& item : given->items) {
    c.cost.spend(1 + paths.size());
    std::vector<value> keys;
    for (const auto& path : paths)
      keys.push_back(key_of(get_path(item, path, c.cost), case_sensitive, c.cost));
    keyed.emplace_back(make_list(std::move(keys)), item);
  }
  return sorted(std::move(keyed), reversed, c.cost);
}

value dictsort(const filter_call& c) {
  const auto* d = dict_of(c.input);
  if (is_undefined(c.input)) refuse_undefined(c.input);
  if (d == nullptr) throw refusal(fmt::format("'dictsort' needs a dict, not '{}'", type_name(c.input)));
  const bool case_sensitive = truth_argument(c.s, c.a, 0, false);
  const auto* by = text_argument(c.s, c.a, 1);
  if (by != nullptr && *by != "key" && *by != "value")
    throw refusal("'by' of 'dictsort' must be key or value");
  std::vector<std::pair<value, value>> keyed;
  c.cost.spend(1 + d->items.size());
  for (const auto& [key, item] : d->items) {
    const auto& of = by != nullptr && *by == "value" ? item : key;
    keyed.emplace_back(key_of(of, case_sensitive, c.cost), make_sequence(sequence_kind::tuple, {key, item}));
  }
  return sorted(std::move(keyed), truth_argument(c.s, c.a, 2, false), c.cost);
}

value unique(const filter_call& c) {
  const bool case_sensitive = truth_argument(c.s, c.a, 0, false);
  const auto given = iterate(c.input, c.cost);
  dict_builder seen;
  std::vector<value> out;
  for (const auto& item : given->items) {
    c.cost.spend(4);
    const auto key = c[1] != nullptr ? get_path(item, *c[1], c.cost) : item;
    if (seen.put(key_of(key, case_sensitive, c.cost), none{})) out.push_back(item);
  }
  return make_generator(std::move(out));
}

/// The first item whose key is `better` than those before it.
template <relation better>
value best(const filter_call& c) {
  const bool case_sensitive = truth_argument(c.s, c.a, 0, false);
  const auto given = iterate(c.input, c.cost);
  const value* found = nullptr;
  value found_key;
  for (const auto& item : given->items) {
    c.cost.spend(2);
    auto key = key_of(c[1] != nullptr ? get_path(item, *c[1], c.cost) : item, case_sensitive, c.cost);
    if (found != nullptr && !holds(better, key, found_key, c.cost)) continue;
    found = &item;
    found_key = std::move(key);
  }
  if (found == nullptr)
    return make_undefined(fmt::format("there is no {} item: the list is empty", c.s.name));
  return *found;
}

const filter sequence_table[] = {{{"length"}, count},
                                 {{"count"}, count},
                                 {{"default", {"default_value", "boolean"}}, default_value},
                                 {{"d", {"default_value", "boolean"}}, default_value},
                                 {{"first"}, first},
                                 {{"last"}, last},
                                 {{"list"}, list},
                                 {{"items"}, items},
                                 {{"reverse"}, reverse},
                                 {{"sort", {"reverse", "case_sensitive", "attribute"}}, sort},
                                 {{"dictsort", {"case_sensitive", "by", "reverse"}}, dictsort},
                                 {{"unique", {"case_sensitive", "attribute"}}, unique},
                                 {{"min", {"case_sensitive", "attribute"}}, best<relation::less>},
                                 {{"max", {"case_sensitive", "attribute"}}, best<relation::greater>}};

}  // namespace

std::span<const filter> sequence_filters() { return sequence_table; }

}  // namespace troupe::llm::jinja
