#include "gpu/chat_template/signature.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::llm::jinja {

namespace {

size_t parameter_count(const signature& s) {
  return static_cast<size_t>(
      std::count_if(s.parameters.begin(), s.parameters.end(), [](auto p) { return !p.empty(); }));
}

}  // namespace

std::string mismatch(const signature& s, size_t positional, const std::vector<std::string_view>& names) {
  if (s.variadic) return {};
  const auto count = parameter_count(s);
  if (positional > count) {
    return fmt::format("'{}' takes at most {} arguments here, not {}", s.name, count, positional);
  }
  std::array<bool, 5> given = {};
  std::fill_n(given.begin(), positional, true);
  for (const auto name : names) {
    const auto at =
        static_cast<size_t>(std::find(s.parameters.begin(), s.parameters.end(), name) - s.parameters.begin());
    if (at >= count) return fmt::format("'{}' has no argument '{}' here", s.name, name);
    if (given[at]) return fmt::format("'{}' has argument '{}' twice", s.name, name);
    given[at] = true;
  }
  for (size_t i = 0; i < s.required; ++i)
    if (!given[i]) return fmt::format("'{}' needs its argument '{}'", s.name, s.parameters[i]);
  return {};
}

void check(const signature& s, const arguments& a) {
  std::vector<std::string_view> names;
  for (const auto& [name, v] : a.named) names.push_back(name);
  if (auto wrong = mismatch(s, a.positional.size(), names); !wrong.empty()) throw refusal(wrong);
}

const value* argument(const signature& s, const arguments& a, size_t at) {
  if (at < a.positional.size()) return &a.positional[at];
  for (const auto& [name, v] : a.named)
    if (name == s.parameters[at]) return &v;
  return nullptr;
}

int64_t integer_argument(const signature& s, const arguments& a, size_t at, int64_t otherwise) {
  const auto* v = argument(s, a, at);
  if (v == nullptr) return otherwise;
  int64_t n = 0;
  if (!integer_of(*v, n)) {
    if (is_undefined(*v)) refuse_undefined(*v);
    throw refusal(fmt::format("'{}' of '{}' must be a whole number, not '{}'", s.parameters[at], s.name,
                              type_name(*v)));
  }
  return n;
}

bool truth_argument(const signature& s, const arguments& a, size_t at, bool otherwise) {
  const auto* v = argument(s, a, at);
  return v != nullptr ? truth(*v) : otherwise;
}

const std::string* text_argument(const signature& s, const arguments& a, size_t at) {
  const auto* v = argument(s, a, at);
  if (v == nullptr || is_none(*v)) return nullptr;
  const auto* t = text_of(*v);
  if (t == nullptr) {
    throw refusal(
        fmt::format("'{}' of '{}' must be a str, not '{}'", s.parameters[at], s.name, type_name(*v)));
  }
  return t;
}

}  // namespace troupe::llm::jinja
