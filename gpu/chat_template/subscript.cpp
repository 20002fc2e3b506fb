#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "gpu/chat_template/methods.hpp"
#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

value missing(const value& v, std::string_view name) {
  const bool described = !is_none(v) && dict_of(v) == nullptr;
  return make_undefined(described    ? fmt::format("'{}' has no attribute or item '{}'", type_name(v), name)
                        : is_none(v) ? fmt::format("None has no attribute or item '{}'", name)
                                     : fmt::format("the object has no attribute or item '{}'", name));
}

std::optional<value> loop_attribute(const loop_state& l, std::string_view name) {
  const auto n = static_cast<int64_t>(l.items->items.size()), at = static_cast<int64_t>(l.at);
  if (name == "index") return at + 1;
  if (name == "index0") return at;
  if (name == "revindex") return n - at;
  if (name == "revindex0") return n - at - 1;
  if (name == "first") return at == 0;
  if (name == "last") return at + 1 == n;
  if (name == "length") return n;
  if (name == "depth") return int64_t{1};  // jinja2 counts only recursive loops
  if (name == "depth0") return int64_t{0};
  if (name == "previtem")
    return at > 0 ? l.items->items[l.at - 1] : make_undefined("there is no previous item");
  if (name == "nextitem")
    return at + 1 < n ? l.items->items[l.at + 1] : make_undefined("there is no next item");
  return std::nullopt;
}

/// Python's getattr(); none if there is no such attribute.
std::optional<value> own_attribute(const value& v, std::string_view name) {
  if (const auto* n = std::get_if<name_space*>(&v)) {
    const auto at = (*n)->attributes.find(name);
    if (at != (*n)->attributes.end()) return at->second;
    return std::nullopt;
  }
  if (const auto* l = std::get_if<loop_state*>(&v)) {
    if (auto found = loop_attribute(**l, name)) return found;
  }
  switch (method_of(v, name)) {
    case method_kind::supported:
      return std::make_shared<const bound_method>(bound_method{v, std::string(name)});
    case method_kind::changes:
      return make_undefined(
          fmt::format("'{}' would modify the {}, which is not supported: create a new one, with + or |", name,
                      type_name(v)));
    case method_kind::unsupported:
      throw refusal(fmt::format("'{}' of a {} is not supported", name, type_name(v)));
    case method_kind::none: return std::nullopt;
  }
  return std::nullopt;
}

/// Python's v[key]; none if there is no such item.
std::optional<value> own_item(const value& v, const value& key, budget& cost) {
  if (const auto* d = dict_of(v)) {
    try {
      const auto* found = find(*d, key);
      return found != nullptr ? std::optional(*found) : std::nullopt;
    } catch (const refusal&) {  // jinja2 treats an invalid key as a missing one
      return std::nullopt;
    }
  }
  int64_t at = 0;
  if (!integer_of(key, at)) return std::nullopt;
  if (const auto* s = sequence_of(v)) {
    const bool indexed =
        s->kind == sequence_kind::list || s->kind == sequence_kind::tuple || s->kind == sequence_kind::range;
    const auto n = static_cast<int64_t>(s->items.size());
    if (!indexed || at >= n || at < -n) return std::nullopt;
    return s->items[static_cast<size_t>(at < 0 ? at + n : at)];
  }
  if (const auto* t = text_of(v)) {
    const auto n = length(v, cost);
    if (at >= n || at < -n) return std::nullopt;
    if (at < 0) at += n;
    size_t from = 0;
    while (at-- > 0) from = text::next(*t, from);
    return make_text(std::string_view(*t).substr(from, text::next(*t, from) - from));
  }
  return std::nullopt;
}

std::optional<int64_t> slice_end(const value& v) {
  if (is_none(v)) return std::nullopt;
  int64_t n = 0;
  if (!integer_of(v, n)) {
    throw refusal(fmt::format("slice indices must be integers or None, not '{}'", type_name(v)));
  }
  return n;
}

/// The positions of a slice of n items, as in CPython's PySlice_AdjustIndices.
std::vector<size_t> positions(int64_t n, std::optional<int64_t> from, std::optional<int64_t> to, int64_t step,
                              budget& cost) {
  if (step == 0) throw refusal("slice step cannot be zero");
  const bool back = step < 0;
  const auto clamp = [&](int64_t at) {
    if (at < 0) return std::max<int64_t>(at + n, back ? -1 : 0);
    return std::min(at, back ? n - 1 : n);
  };
  const auto begin = from ? clamp(*from) : back ? n - 1 : 0;
  const auto end = to ? clamp(*to) : back ? -1 : n;
  step = std::clamp<int64_t>(step, -n - 1, n + 1);  // larger steps are equivalent, but could overflow
  std::vector<size_t> out;
  cost.spend_items(static_cast<uint64_t>(std::max<int64_t>(back ? begin - end : end - begin, 0)));
  for (auto at = begin; back ? at > end : at < end; at += step) out.push_back(static_cast<size_t>(at));
  return out;
}

value slice_text(const std::string& t, std::optional<int64_t> from, std::optional<int64_t> to, int64_t step,
                 budget& cost) {
  cost.spend_bytes(t.size());
  if (step == 1) {  // avoids a list of characters
    const auto n = static_cast<int64_t>(text::length(t));
    const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n); };
    const auto begin = from ? clamp(*from) : 0, end = to ? clamp(*to) : n;
    if (begin >= end) return make_text("");
    if (n == static_cast<int64_t>(t.size())) {
      return make_text(
          std::string_view(t).substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    }
    size_t first = 0, at = 0;
    for (int64_t i = 0; i < end; ++i, at = text::next(t, at))
      if (i == begin) first = at;
    return make_text(std::string_view(t).substr(first, at - first));
  }
  cost.spend_items(t.size());
  const auto characters = text::characters(t);
  std::string out;
  for (const auto at : positions(static_cast<int64_t>(characters.size()), from, to, step, cost))
    out += characters[at];
  return make_text(out);
}

}  // namespace

value get_attribute(const value& v, std::string_view name, budget& cost) {
  cost.spend();
  if (is_undefined(v)) refuse_undefined(v);
  if (auto found = own_attribute(v, name)) return *std::move(found);
  if (const auto* d = dict_of(v)) {
    if (const auto* found = find(*d, name)) return *found;
  }
  return missing(v, name);
}

value get_item(const value& v, const value& key, budget& cost) {
  cost.spend();
  if (is_undefined(v)) refuse_undefined(v);
  if (auto found = own_item(v, key, cost)) return *std::move(found);
  const auto* name = text_of(key);
  if (name != nullptr) {
    if (auto found = own_attribute(v, *name)) return *std::move(found);
    return missing(v, name->size() < 100 ? *name : "...");
  }
  int64_t n = 0;
  return integer_of(key, n) ? missing(v, fmt::format("{}", n)) : missing(v, type_name(key));
}

value get_slice(const value& v, const value& from, const value& to, const value& step, budget& cost) {
  cost.spend();
  if (is_undefined(v)) refuse_undefined(v);
  const auto by = slice_end(step).value_or(1);
  const auto begin = slice_end(from), end = slice_end(to);
  if (const auto* t = text_of(v)) return slice_text(*t, begin, end, by, cost);
  const auto* s = sequence_of(v);
  const bool sliced = s != nullptr && (s->kind == sequence_kind::list || s->kind == sequence_kind::tuple ||
                                       s->kind == sequence_kind::range);
  if (!sliced) throw refusal(fmt::format("'{}' cannot be sliced", type_name(v)));
  std::vector<value> items;
  for (const auto at : positions(static_cast<int64_t>(s->items.size()), begin, end, by, cost))
    items.push_back(s->items[at]);
  return make_sequence(s->kind, std::move(items));
}

}  // namespace troupe::llm::jinja
