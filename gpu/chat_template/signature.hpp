// The signatures of filters, tests, methods and functions, and access to arguments.
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
  std::array<std::string_view, 5> parameters = {};  // in order; empty entries are unused
  uint8_t required = 0;
  bool variadic = false;  // takes any arguments and checks them itself
};

/// The problem with such arguments; empty if there is none.
std::string mismatch(const signature& s, size_t positional, const std::vector<std::string_view>& names);

/// Throws refusal if the arguments do not match.
void check(const signature& s, const arguments& a);

/// The argument of parameter number `at`; null if it was not given.
const value* argument(const signature& s, const arguments& a, size_t at);

/// `otherwise`: default if the argument was not given. Throw refusal if it has another type.
int64_t integer_argument(const signature& s, const arguments& a, size_t at, int64_t otherwise);
bool truth_argument(const signature& s, const arguments& a, size_t at, bool otherwise);
/// Null if not given; none counts as not given.
const std::string* text_argument(const signature& s, const arguments& a, size_t at);

}  // namespace troupe::llm::jinja
