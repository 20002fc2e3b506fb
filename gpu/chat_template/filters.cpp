#include "gpu/chat_template/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gpu/chat_template/operators.hpp"
#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

const filter* find_filter(std::string_view name) {
  for (const auto table : {text_filters(), number_filters(), sequence_filters(), selecting_filters()}) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const filter& f) { return f.s.name == name; });
    if (found != table.end()) return &*found;
  }
  return nullptr;
}

std::string filter_names() {
  std::set<std::string_view> names;
  for (const auto table : {text_filters(), number_filters(), sequence_filters(), selecting_filters()})
    for (const auto& f : table) names.insert(f.s.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

value apply(const filter& f, const value& input, const arguments& a, budget& cost) {
  cost.spend();
  check(f.s, a);
  return f.apply({f.s, input, a, cost});
}

value get_path(const value& v, const value& path, budget& cost, const value* otherwise) {
  const auto* t = text_of(path);
  const auto step = [&](const value& from, const value& key) {
    auto to = get_item(from, key, cost);
    return is_undefined(to) && otherwise != nullptr && !is_none(*otherwise) ? *otherwise : to;
  };
  if (t == nullptr) return is_none(path) ? v : step(v, path);
  cost.spend_bytes(t->size());
  value at = v;
  const std::string_view dot = ".";
  for (const auto part : text::split(*t, &dot, -1, false)) {
    const bool is_number = !part.empty() && part.size() < 10 &&
                           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    at = step(at, is_number ? value(int64_t{std::stoi(std::string(part))}) : make_text(part));
  }
  return at;
}

}  // namespace troupe::llm::jinja
