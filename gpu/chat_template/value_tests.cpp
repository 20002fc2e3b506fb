#include "gpu/chat_template/value_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "gpu/chat_template/operators.hpp"

namespace troupe::llm::jinja {

namespace {

bool is_boolean(const value& v) { return std::holds_alternative<bool>(v); }

bool is_integer(const value& v) { return std::holds_alternative<int64_t>(v); }

bool is_real(const value& v) { return std::holds_alternative<double>(v); }

bool is_remainder(const value& v, const value& by, int64_t wanted, budget& cost) {
  return equal(calculate(arithmetic::modulo, v, by, cost), wanted, cost);
}

bool is_iterable(const value& v) {
  return is_undefined(v) || text_of(v) != nullptr || sequence_of(v) != nullptr || dict_of(v) != nullptr ||
         std::holds_alternative<loop_state*>(v);
}

/// jinja2's definition: has a length and items by index or key. Includes dicts and undefined.
bool is_sequence(const value& v) {
  const auto* s = sequence_of(v);
  if (s == nullptr) return is_undefined(v) || text_of(v) != nullptr || dict_of(v) != nullptr;
  return s->kind == sequence_kind::list || s->kind == sequence_kind::tuple || s->kind == sequence_kind::range;
}

/// Includes jinja2's Undefined and loop, which are callable in Python although the calls fail.
bool is_callable(const value& v) {
  return is_undefined(v) || std::holds_alternative<loop_state*>(v) ||
         std::holds_alternative<const macro*>(v) || std::holds_alternative<global_function>(v) ||
         std::holds_alternative<method_ptr>(v);
}

template <bool (*is)(const value&)>
bool plain(const value& v, const value*, budget&) {
  return is(v);
}

template <relation r>
bool related(const value& v, const value* other, budget& cost) {
  return holds(r, v, *other, cost);
}

const value_test all_tests[] = {
    {{"defined"}, [](const value& v, const value*, budget&) { return !is_undefined(v); }},
    {{"undefined"}, plain<is_undefined>},
    {{"none"}, plain<is_none>},
    {{"string"}, [](const value& v, const value*, budget&) { return text_of(v) != nullptr; }},
    {{"number"},
     [](const value& v, const value*, budget&) { return is_boolean(v) || is_integer(v) || is_real(v); }},
    {{"integer"}, plain<is_integer>},
    {{"float"}, plain<is_real>},
    {{"boolean"}, plain<is_boolean>},
    {{"true"}, [](const value& v, const value*, budget&) { return is_boolean(v) && truth(v); }},
    {{"false"}, [](const value& v, const value*, budget&) { return is_boolean(v) && !truth(v); }},
    {{"mapping"}, [](const value& v, const value*, budget&) { return dict_of(v) != nullptr; }},
    {{"iterable"}, plain<is_iterable>},
    {{"sequence"}, plain<is_sequence>},
    {{"callable"}, plain<is_callable>},
    {{"even"},
     [](const value& v, const value*, budget& cost) { return is_remainder(v, int64_t{2}, 0, cost); }},
    {{"odd"},
     [](const value& v, const value*, budget& cost) { return is_remainder(v, int64_t{2}, 1, cost); }},
    {{"divisibleby", {"num"}, 1},
     [](const value& v, const value* by, budget& cost) { return is_remainder(v, *by, 0, cost); }},
    {{"in", {"seq"}, 1}, related<relation::in>},
    {{"equalto", {"other"}, 1}, related<relation::equal>},
    {{"eq", {"other"}, 1}, related<relation::equal>},
    {{"==", {"other"}, 1}, related<relation::equal>},
    {{"ne", {"other"}, 1}, related<relation::not_equal>},
    {{"!=", {"other"}, 1}, related<relation::not_equal>},
    {{"lessthan", {"other"}, 1}, related<relation::less>},
    {{"lt", {"other"}, 1}, related<relation::less>},
    {{"<", {"other"}, 1}, related<relation::less>},
    {{"le", {"other"}, 1}, related<relation::less_equal>},
    {{"<=", {"other"}, 1}, related<relation::less_equal>},
    {{"greaterthan", {"other"}, 1}, related<relation::greater>},
    {{"gt", {"other"}, 1}, related<relation::greater>},
    {{">", {"other"}, 1}, related<relation::greater>},
    {{"ge", {"other"}, 1}, related<relation::greater_equal>},
    {{">=", {"other"}, 1}, related<relation::greater_equal>}};

}  // namespace

const value_test* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(all_tests), std::end(all_tests),
                                   [&](const value_test& t) { return t.s.name == name; });
  return found == std::end(all_tests) ? nullptr : found;
}

std::string test_names() {
  std::set<std::string_view> names;
  for (const auto& t : all_tests) names.insert(t.s.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool holds(const value_test& t, const value& v, const arguments& a, budget& cost) {
  cost.spend();
  check(t.s, a);
  return t.holds(v, argument(t.s, a, 0), cost);
}

}  // namespace troupe::llm::jinja
