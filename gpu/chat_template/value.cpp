#include "gpu/chat_template/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

constexpr size_t max_unindexed = 8;

uint32_t depth_of(const value& v) {
  if (const auto* s = sequence_of(v)) return s->depth;
  if (const auto* d = dict_of(v)) return d->depth;
  if (const auto* m = std::get_if<method_ptr>(&v)) return depth_of((*m)->self) + 1;
  return 0;
}

uint32_t deeper(uint32_t depth, const value& child) {
  const auto d = std::max(depth, depth_of(child) + 1);
  if (d > deepest_value) throw refusal(fmt::format("nests lists deeper than {}", deepest_value));
  return d;
}

/// A text that is the same for equal keys, such as 1, 1.0 and True. None for unsupported keys.
std::optional<std::string> dict_key(const value& v) {
  if (const auto* s = text_of(v)) return 't' + *s;
  if (is_none(v)) return "none";
  if (int64_t n = 0; integer_of(v, n)) return fmt::format("n{}", n);
  if (const auto* d = std::get_if<double>(&v)) {
    if (std::abs(*d) < 9e15 && *d == std::trunc(*d)) return fmt::format("n{}", static_cast<int64_t>(*d));
    return fmt::format("r{}", *d);
  }
  return std::nullopt;
}

bool is_hashable(const value& v) {
  if (dict_of(v) != nullptr) return false;
  const auto* s = sequence_of(v);
  if (s == nullptr || s->kind == sequence_kind::generator || s->kind == sequence_kind::range) return true;
  return s->kind == sequence_kind::tuple && std::all_of(s->items.begin(), s->items.end(), is_hashable);
}

}  // namespace

value make_text(std::string_view s) { return std::make_shared<const std::string>(s); }

value make_undefined(std::string why) {
  return undefined{std::make_shared<const std::string>(std::move(why))};
}

value make_sequence(sequence_kind kind, std::vector<value> items) {
  uint32_t depth = 1;
  for (const auto& v : items) depth = deeper(depth, v);
  return std::make_shared<const sequence>(sequence{kind, std::move(items), depth});
}

bool dict_builder::put(const value& key, value v) {
  auto& d = *dict_;
  d.depth = deeper(d.depth, v);
  auto k = dict_key(key);
  if (!k) {
    throw refusal(
        fmt::format("a {} cannot be the key of a dict here: use a string or a number", type_name(key)));
  }
  const auto [at, added] = d.index.try_emplace(std::move(*k), d.items.size());
  if (added) {
    d.items.emplace_back(key, std::move(v));
  } else {
    d.items[at->second].second = std::move(v);
  }
  return added;
}

value dict_builder::take() {
  if (dict_->items.size() <= max_unindexed) dict_->index = {};
  return dict_ptr(std::exchange(dict_, std::make_shared<dict>()));
}

value from_json(const nlohmann::ordered_json& json, uint32_t depth) {
  if (depth >= deepest_value)
    throw refusal(fmt::format("the request nests JSON deeper than {}", deepest_value));
  using type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case type::null: return none{};
    case type::boolean: return json.get<bool>();
    case type::number_integer: return json.get<int64_t>();
    case type::number_unsigned:
      if (json.get<uint64_t>() > INT64_MAX)
        throw refusal("a whole number of the request does not fit into 64 bits");
      return json.get<int64_t>();
    case type::number_float: return json.get<double>();
    case type::string: return make_text(json.get_ref<const std::string&>());
    case type::array: {
      std::vector<value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(from_json(item, depth + 1));
      return make_list(std::move(items));
    }
    case type::object: {
      dict_builder d;
      for (const auto& [key, item] : json.items()) d.put(make_text(key), from_json(item, depth + 1));
      return d.take();
    }
    default: throw refusal("the request holds a value that is not JSON");
  }
}

const value* find(const dict& d, std::string_view key) {
  if (d.index.empty()) {
    for (const auto& [k, v] : d.items) {
      const auto* s = text_of(k);
      if (s != nullptr && *s == key) return &v;
    }
    return nullptr;
  }
  const auto at = d.index.find(fmt::format("t{}", key));
  return at == d.index.end() ? nullptr : &d.items[at->second].second;
}

const value* find(const dict& d, const value& key) {
  if (const auto* s = text_of(key)) return find(d, std::string_view(*s));
  if (!is_hashable(key)) throw refusal(fmt::format("unhashable type: '{}'", type_name(key)));
  const auto wanted = dict_key(key);
  if (!wanted) return nullptr;
  if (!d.index.empty()) {
    const auto at = d.index.find(*wanted);
    return at == d.index.end() ? nullptr : &d.items[at->second].second;
  }
  for (const auto& [k, v] : d.items)
    if (dict_key(k) == wanted) return &v;
  return nullptr;
}

const sequence* sequence_of(const value& v, sequence_kind kind) {
  const auto* s = sequence_of(v);
  return s != nullptr && s->kind == kind ? s : nullptr;
}

bool integer_of(const value& v, int64_t& out) {
  if (const auto* b = std::get_if<bool>(&v)) {
    out = *b ? 1 : 0;
    return true;
  }
  if (const auto* n = std::get_if<int64_t>(&v)) {
    out = *n;
    return true;
  }
  return false;
}

std::string_view type_name(const value& v) {
  // in the order of the variant, then the kinds of sequences
  constexpr std::string_view names[] = {"Undefined", "NoneType", "bool",  "int",       "float",
                                        "str",       "list",     "dict",  "Namespace", "loop",
                                        "function",  "function", "method"};
  static_assert(std::size(names) == std::variant_size_v<value>);
  const auto* s = sequence_of(v);
  if (s == nullptr) return names[v.index()];
  switch (s->kind) {
    case sequence_kind::list: return "list";
    case sequence_kind::tuple: return "tuple";
    case sequence_kind::range: return "range";
    case sequence_kind::items_view: return "dict_items";
    case sequence_kind::keys_view: return "dict_keys";
    case sequence_kind::values_view: return "dict_values";
    case sequence_kind::generator: return "generator";
  }
  return "list";
}

void refuse_undefined(const value& v) {
  const auto& why = std::get<undefined>(v).why;
  throw refusal(why != nullptr ? *why : "the value is undefined");
}

bool truth(const value& v) {
  if (const auto* b = std::get_if<bool>(&v)) return *b;
  if (const auto* n = std::get_if<int64_t>(&v)) return *n != 0;
  if (const auto* d = std::get_if<double>(&v)) return *d != 0;
  if (const auto* s = text_of(v)) return !s->empty();
  if (const auto* s = sequence_of(v)) return s->kind == sequence_kind::generator || !s->items.empty();
  if (const auto* d = dict_of(v)) return !d->items.empty();
  return !is_undefined(v) && !is_none(v);
}

sequence_ptr iterate(const value& v, budget& cost) {
  std::vector<value> items;
  if (const auto* p = std::get_if<sequence_ptr>(&v)) {
    const auto& s = **p;
    if (s.kind != sequence_kind::generator) return *p;
    cost.spend_items(s.items.size() - s.taken);
    items.assign(s.items.begin() + static_cast<ptrdiff_t>(s.taken), s.items.end());
    s.taken = s.items.size();
  } else if (const auto* d = dict_of(v)) {
    cost.spend_items(d->items.size());
    for (const auto& [key, item] : d->items) items.push_back(key);
  } else if (const auto* t = text_of(v)) {
    cost.spend(1 + t->size());
    for (const auto c : text::characters(*t)) items.push_back(make_text(c));
  } else if (!is_undefined(v)) {
    throw refusal(fmt::format("'{}' object is not iterable", type_name(v)));
  }
  return std::get<sequence_ptr>(make_list(std::move(items)));
}

int64_t length(const value& v, budget& cost) {
  size_t n = 0;
  if (const auto* t = text_of(v)) {
    cost.spend_bytes(t->size());
    n = text::length(*t);
  } else if (const auto* s = sequence_of(v); s != nullptr && s->kind != sequence_kind::generator) {
    n = s->items.size();
  } else if (const auto* d = dict_of(v)) {
    n = d->items.size();
  } else if (!is_undefined(v)) {
    throw refusal(fmt::format("object of type '{}' has no len()", type_name(v)));
  }
  return static_cast<int64_t>(n);
}

}  // namespace troupe::llm::jinja
