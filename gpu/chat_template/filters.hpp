// What can follow a | .
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

  /// Null if it was not given.
  const value* operator[](size_t at) const { return argument(s, a, at); }
};

struct filter {
  signature s;
  value (*apply)(const filter_call&);
};

/// Null if it is not supported.
const filter* find_filter(std::string_view name);
std::string filter_names();

/// Throws refusal if the arguments do not match or the input is of a wrong type.
value apply(const filter& f, const value& input, const arguments& a, budget& cost);

// One table each: of texts and of what becomes one, of numbers, of lists and dicts, and of what takes the
// name of a filter or of a test.
std::span<const filter> text_filters();
std::span<const filter> number_filters();
std::span<const filter> sequence_filters();
std::span<const filter> selecting_filters();

/// An attribute as filters name it, "function.name" or 0. `otherwise`, unless it is null or none, stands for
/// each part of the path that is undefined.
value get_path(const value& v, const value& path, budget& cost, const value* otherwise = nullptr);

}  // namespace troupe::llm::jinja
