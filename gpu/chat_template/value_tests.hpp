// The tests of Jinja: {{ value is test }}.
#pragma once
#include <string>
#include <string_view>

#include "gpu/chat_template/signature.hpp"
#include "gpu/chat_template/value.hpp"

namespace troupe::llm::jinja {

struct value_test {
  signature s;
  bool (*holds)(const value& v, const value* argument, budget& cost);
};

/// Null if the test is not supported.
const value_test* find_test(std::string_view name);
std::string test_names();

/// Throws refusal if the arguments do not match.
bool holds(const value_test& t, const value& v, const arguments& a, budget& cost);

}  // namespace troupe::llm::jinja
