// The filters of Jinja: {{ value | filter }}.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "gpu/chat_template/signature.hpp"
#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

struct filter_call {
  const signature& s;
  const value& input;
  const arguments& a;
  budget& cost;

  /// Null if the argument was not given.
  const value* operator[](size_t at) const { return argument(s, a, at); }
};

struct filter {
  signature s;
  value (*apply)(const filter_call&);
};

/// Null if the filter is not supported.
const filter* find_filter(std::string_view name);
std::string filter_names();

/// Throws refusal if the arguments do not match or the input has a wrong type.
value apply(const filter& f, const value& input, const arguments& a, budget& cost);

// The tables of filters: of texts and for conversion to text, of numbers, of lists and dicts, and of filters
// that take the name of a filter or test.
std::span<const filter> text_filters();
std::span<const filter> number_filters();
std::span<const filter> sequence_filters();
std::span<const filter> selecting_filters();

/// An attribute by a filter's path, "function.name" or 0. `otherwise`, unless null or none, replaces each
/// undefined part of the path.
value get_path(const value& v, const value& path, budget& cost, const value* otherwise = nullptr);

}  // namespace troupe::llm::jinja
