#include "gpu/chat_template/functions.hpp"

#include <fmt/format.h>

#include "gpu/chat_template/date.hpp"
#include "gpu/chat_template/printing.hpp"

namespace troupe::llm::jinja {

namespace {

/// Python's dict(): from a dict or from pairs, then the named arguments.
dict_builder make_dict(const arguments& a, budget& cost) {
  dict_builder out;
  if (a.positional.size() > 1)
    throw refusal("'dict' and 'namespace' take one argument without a name at most");
  if (!a.positional.empty()) {
    const auto& from = a.positional[0];
    if (const auto* d = dict_of(from)) {
      cost.spend(1 + 4 * d->items.size());
      for (const auto& [key, v] : d->items) out.put(key, v);
    } else {
      if (is_undefined(from)) refuse_undefined(from);
      const auto pairs = iterate(from, cost);
      for (const auto& item : pairs->items) {
        cost.spend(4);
        const auto pair = iterate(item, cost);
        if (pair->items.size() != 2) throw refusal("'dict' takes pairs of a key and a value");
        out.put(pair->items[0], pair->items[1]);
      }
    }
  }
  for (const auto& [name, v] : a.named) out.put(make_text(name), v);
  return out;
}

value make_namespace(const arguments& a, session& s) {
  s.cost.spend(4);
  const auto items = make_dict(a, s.cost).take();
  auto& n = s.namespaces.emplace_back();
  for (const auto& [key, v] : dict_of(items)->items) {
    const auto* name = text_of(key);
    if (name == nullptr) throw refusal("the attributes of a namespace have names");
    check_attribute(*name);
    n.attributes.insert_or_assign(*name, v);
  }
  return &n;
}

value make_range(const arguments& a, budget& cost) {
  if (a.positional.empty() || a.positional.size() > 3 || !a.named.empty()) {
    throw refusal("'range' takes one to three whole numbers");
  }
  int64_t n[3] = {0, 0, 1};
  const auto count = a.positional.size();
  for (size_t i = 0; i < count; ++i) {
    if (!integer_of(a.positional[i], n[count == 1 ? 1 : i])) {
      if (is_undefined(a.positional[i])) refuse_undefined(a.positional[i]);
      throw refusal(fmt::format("'range' takes whole numbers, not '{}'", type_name(a.positional[i])));
    }
  }
  const auto [from, to, step] = n;
  if (step == 0) throw refusal("'range' needs a step that is not zero");
  // in 128 bits: neither the distance nor the next number can overflow
  const auto distance = step > 0 ? __int128{to} - from : __int128{from} - to;
  const auto by = step > 0 ? __int128{step} : -__int128{step};
  const auto length = distance <= 0 ? 0 : (distance + by - 1) / by;
  if (length > longest_range) throw refusal(fmt::format("'range' is longer than {}", longest_range));
  cost.spend_items(static_cast<uint64_t>(length));
  std::vector<value> items;
  for (int64_t i = 0; i < static_cast<int64_t>(length); ++i)
    items.push_back(static_cast<int64_t>(__int128{from} + __int128{i} * step));
  return make_sequence(sequence_kind::range, std::move(items));
}

[[noreturn]] void raise(const arguments& a, budget& cost) {
  const auto* message = a.positional.size() == 1 ? &a.positional[0] : nullptr;
  for (const auto& [name, v] : a.named)
    if (name == "message" && a.positional.empty()) message = &v;
  if (message == nullptr) throw refusal("'raise_exception' takes one message");
  throw raised(to_text(*message, cost));
}

value format_now(const arguments& a, const session& s) {
  const auto* format = a.positional.size() == 1 && a.named.empty() ? text_of(a.positional[0]) : nullptr;
  if (format == nullptr) throw refusal("'strftime_now' takes one format, as \"%d %b %Y\"");
  if (s.date.empty()) {
    throw refusal(
        "the template asks for today's date, and the request gives none: set its variable strftime_now, "
        "as 2024-07-26");
  }
  return make_text(format_date(s.date, *format));
}

}  // namespace

std::optional<global_function> find_function(std::string_view name) {
  if (name == "range") return global_function::range;
  if (name == "namespace") return global_function::name_space;
  if (name == "dict") return global_function::dict;
  if (name == "raise_exception") return global_function::raise_exception;
  if (name == "strftime_now") return global_function::strftime_now;
  return std::nullopt;
}

void check_attribute(std::string_view name) {
  if (name.starts_with('_'))
    throw refusal(fmt::format("'{}' cannot be an attribute of a namespace: it begins with _", name));
}

value call_function(global_function f, const arguments& a, session& s) {
  s.cost.spend();
  switch (f) {
    case global_function::range: return make_range(a, s.cost);
    case global_function::name_space: return make_namespace(a, s);
    case global_function::dict: return make_dict(a, s.cost).take();
    case global_function::raise_exception: raise(a, s.cost);
    case global_function::strftime_now: return format_now(a, s);
  }
  return none{};
}

}  // namespace troupe::llm::jinja
