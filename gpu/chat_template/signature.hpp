// How filters, tests, methods and functions take their arguments.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

struct arguments {
  std::vector<value> positional;
  std::vector<std::pair<std::string_view, value>> named;
};

struct signature {
  std::string_view name;
  std::array<std::string_view, 5> parameters = {};  // in order; what is empty is not one
  uint8_t required = 0;
  bool variadic = false;  // takes any arguments and looks at them itself
};

/// What is wrong with such arguments, or nothing.
std::string mismatch(const signature& s, size_t positional, const std::vector<std::string_view>& names);

/// Throws refusal if the arguments do not match.
void check(const signature& s, const arguments& a);

/// The argument of parameter number `at`; null if it was not given.
const value* argument(const signature& s, const arguments& a, size_t at);

/// With what the parameter is if it was not given. Throw refusal if it is of another type.
int64_t integer_argument(const signature& s, const arguments& a, size_t at, int64_t otherwise);
bool truth_argument(const signature& s, const arguments& a, size_t at, bool otherwise);
/// Null if not given; none counts as not given.
const std::string* text_argument(const signature& s, const arguments& a, size_t at);

}  // namespace troupe::llm::jinja
