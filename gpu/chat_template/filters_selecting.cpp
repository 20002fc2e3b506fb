#include <fmt/format.h>

#include <algorithm>

#include "gpu/chat_template/filters.hpp"
#include "gpu/chat_template/value_tests.hpp"

namespace troupe::llm::jinja {

namespace {

/// The arguments without the first `n`.
arguments rest(const arguments& a, size_t n) {
  return {
      {a.positional.begin() + static_cast<ptrdiff_t>(std::min(n, a.positional.size())), a.positional.end()},
      a.named};
}

const std::string& name_argument(const filter_call& c, size_t at, std::string_view what) {
  const auto* name = at < c.a.positional.size() ? text_of(c.a.positional[at]) : nullptr;
  if (name == nullptr) throw refusal(fmt::format("'{}' needs the name of {}", c.s.name, what));
  return *name;
}

value map_attribute(const filter_call& c) {
  const value* path = nullptr;
  const value* otherwise = nullptr;
  for (const auto& [name, v] : c.a.named) {
    if (name == "attribute") {
      path = &v;
    } else if (name == "default") {
      otherwise = &v;
    } else {
      throw refusal(fmt::format("'map' has no argument '{}'", name));
    }
  }
  const auto items = iterate(c.input, c.cost);
  std::vector<value> out;
  for (const auto& item : items->items) out.push_back(get_path(item, *path, c.cost, otherwise));
  return make_generator(std::move(out));
}

value map(const filter_call& c) {
  if (!truth(c.input)) return make_generator({});
  const bool by_attribute =
      c.a.positional.empty() && !c.a.named.empty() &&
      std::any_of(c.a.named.begin(), c.a.named.end(), [](const auto& a) { return a.first == "attribute"; });
  if (by_attribute) return map_attribute(c);
  const auto& name = name_argument(c, 0, "a filter, or attribute=");
  const auto* f = find_filter(name);
  if (f == nullptr)
    throw refusal(fmt::format("filter '{}' is not supported; supported: {}", name, filter_names()));
  if (f->s.variadic) throw refusal(fmt::format("'map' of '{}' is not supported", name));
  const auto items = iterate(c.input, c.cost);
  const auto a = rest(c.a, 1);
  std::vector<value> out;
  for (const auto& item : items->items) out.push_back(apply(*f, item, a, c.cost));
  return make_generator(std::move(out));
}

/// The items for which the test gives `wanted`: for their attribute, or for themselves.
template <bool wanted, bool by_attribute>
value select(const filter_call& c) {
  if (!truth(c.input)) return make_generator({});
  constexpr size_t test_at = by_attribute ? 1 : 0;
  if (by_attribute && c.a.positional.empty())
    throw refusal(fmt::format("'{}' needs the name of an attribute", c.s.name));
  const value_test* test = nullptr;
  if (c.a.positional.size() > test_at) {
    const auto& name = name_argument(c, test_at, "a test");
    test = find_test(name);
    if (test == nullptr)
      throw refusal(fmt::format("test '{}' is not supported; supported: {}", name, test_names()));
  }
  const auto a = rest(c.a, test_at + 1);
  const auto items = iterate(c.input, c.cost);
  std::vector<value> out;
  for (const auto& item : items->items) {
    c.cost.spend();
    const auto v = by_attribute ? get_path(item, c.a.positional[0], c.cost) : item;
    if ((test != nullptr ? holds(*test, v, a, c.cost) : truth(v)) == wanted) out.push_back(item);
  }
  return make_generator(std::move(out));
}

const filter selecting_table[] = {{{"map", {}, 0, true}, map},
                                  {{"select", {}, 0, true}, select<true, false>},
                                  {{"reject", {}, 0, true}, select<false, false>},
                                  {{"selectattr", {}, 0, true}, select<true, true>},
                                  {{"rejectattr", {}, 0, true}, select<false, true>}};

}  // namespace

std::span<const filter> selecting_filters() { return selecting_table; }

}  // namespace troupe::llm::jinja
