#include <fmt/format.h>

#include <algorithm>

#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

/// Exact for all numbers: a long double holds every 64-bit integer on supported machines.
bool number_of(const value& v, long double& out) {
  if (const auto* d = std::get_if<double>(&v)) {
    out = *d;
    return true;
  }
  int64_t n = 0;
  if (!integer_of(v, n)) return false;
  out = static_cast<long double>(n);
  return true;
}

bool equal_items(const sequence& a, const sequence& b, budget& cost) {
  const bool values =
      a.kind == sequence_kind::list || a.kind == sequence_kind::tuple || a.kind == sequence_kind::range;
  if (a.kind != b.kind || !values || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!equal(a.items[i], b.items[i], cost)) return false;
  return true;
}

bool equal_items(const dict& a, const dict& b, budget& cost) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, item] : a.items) {
    cost.spend();
    const auto* other = find(b, key);
    if (other == nullptr || !equal(item, *other, cost)) return false;
  }
  return true;
}

[[noreturn]] void refuse_order(std::string_view symbol, const value& a, const value& b) {
  if (is_undefined(a)) refuse_undefined(a);
  if (is_undefined(b)) refuse_undefined(b);
  throw refusal(fmt::format("'{}' not supported between '{}' and '{}'", symbol, type_name(a), type_name(b)));
}

/// Unordered: a NaN. Python evaluates each relation by itself, and does not derive one from another.
enum class order : uint8_t { less, equal, greater, unordered };

order compare(std::string_view symbol, const value& a, const value& b, budget& cost) {
  cost.spend();
  long double x = 0, y = 0;
  if (number_of(a, x) && number_of(b, y)) {
    return x < y ? order::less : x > y ? order::greater : x == y ? order::equal : order::unordered;
  }
  if (const auto* s = text_of(a), *t = text_of(b); s != nullptr && t != nullptr) {
    cost.spend_bytes(std::min(s->size(), t->size()));
    const auto c = s->compare(*t);  // UTF-8 sorts as its code points do
    return c < 0 ? order::less : c > 0 ? order::greater : order::equal;
  }
  const auto *s = sequence_of(a), *t = sequence_of(b);
  const bool ordered = s != nullptr && t != nullptr && s->kind == t->kind &&
                       (s->kind == sequence_kind::list || s->kind == sequence_kind::tuple);
  if (!ordered) refuse_order(symbol, a, b);
  for (size_t i = 0; i < std::min(s->items.size(), t->items.size()); ++i)
    if (!equal(s->items[i], t->items[i], cost)) return compare(symbol, s->items[i], t->items[i], cost);
  const auto m = s->items.size(), n = t->items.size();
  return m < n ? order::less : m > n ? order::greater : order::equal;
}

}  // namespace

bool equal(const value& a, const value& b, budget& cost) {
  cost.spend();
  long double x = 0, y = 0;
  if (number_of(a, x) && number_of(b, y)) return x == y;
  if (a.index() != b.index()) return false;
  if (const auto* s = text_of(a)) {
    const auto& t = *text_of(b);
    if (s->size() == t.size()) cost.spend(s->size() / bytes_a_step);
    return *s == t;
  }
  if (const auto* s = sequence_of(a)) {
    const auto* t = sequence_of(b);
    return s == t || equal_items(*s, *t, cost);
  }
  if (const auto* d = dict_of(a)) {
    const auto* e = dict_of(b);
    return d == e || equal_items(*d, *e, cost);
  }
  if (const auto* n = std::get_if<name_space*>(&a)) return *n == std::get<name_space*>(b);
  if (const auto* l = std::get_if<loop_state*>(&a)) return *l == std::get<loop_state*>(b);
  if (const auto* m = std::get_if<const macro*>(&a)) return *m == std::get<const macro*>(b);
  if (const auto* f = std::get_if<global_function>(&a)) return *f == std::get<global_function>(b);
  if (const auto* m = std::get_if<method_ptr>(&a)) return *m == std::get<method_ptr>(b);
  return true;  // undefined, none
}

bool less(const value& a, const value& b, budget& cost) { return compare("<", a, b, cost) == order::less; }

bool contains(const value& container, const value& item, budget& cost) {
  cost.spend();
  if (const auto* t = text_of(container)) {
    const auto* part = text_of(item);
    if (part == nullptr) {
      throw refusal(fmt::format("'in <str>' requires a str as left operand, not '{}'", type_name(item)));
    }
    cost.spend_bytes(t->size());
    return text::find(*t, *part) != t->npos;
  }
  if (const auto* d = dict_of(container)) return find(*d, item) != nullptr;
  if (const auto* s = sequence_of(container); s == nullptr && !is_undefined(container)) {
    throw refusal(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
  const auto items = iterate(container, cost);
  return std::any_of(items->items.begin(), items->items.end(),
                     [&](const value& v) { return equal(v, item, cost); });
}

bool holds(relation r, const value& a, const value& b, budget& cost) {
  switch (r) {
    case relation::equal: return equal(a, b, cost);
    case relation::not_equal: return !equal(a, b, cost);
    case relation::less: return compare("<", a, b, cost) == order::less;
    case relation::greater: return compare(">", a, b, cost) == order::greater;
    case relation::in: return contains(b, a, cost);
    case relation::not_in: return !contains(b, a, cost);
    case relation::less_equal: {
      const auto o = compare("<=", a, b, cost);
      return o == order::less || o == order::equal;
    }
    case relation::greater_equal: {
      const auto o = compare(">=", a, b, cost);
      return o == order::greater || o == order::equal;
    }
  }
  return false;
}

}  // namespace troupe::llm::jinja
