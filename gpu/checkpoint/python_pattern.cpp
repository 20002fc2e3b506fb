#include "gpu/checkpoint/python_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/common/model_error.hpp"
#include "gpu/common/pcre2.hpp"

namespace troupe::llm {

using namespace pcre;

namespace {

// A module's name has some fifty bytes; realistic expressions need a few hundred steps.
constexpr uint32_t max_match_steps = 10'000;
constexpr uint32_t max_match_heap_kib = 1024;

bool begins_with_one_of(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view b) { return text.starts_with(b); });
}

/// The first part of the expression that PCRE2 and Python read differently; empty if there is none.
std::string_view misread(std::string_view expression) {
  bool in_class = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const auto rest = expression.substr(i);
    if (rest[0] == '\\') {
      const char c = rest.size() > 1 ? rest[1] : '\\';
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (letter && std::string_view("AbBdDsSwWZfnrt").find(c) == std::string_view::npos)
        return rest.substr(0, 2);
      ++i;
    } else if (in_class) {
      if (begins_with_one_of(rest, {"[:", "[.", "[="})) return rest.substr(0, 2);
      in_class = rest[0] != ']';
    } else if (rest[0] == '[') {
      in_class = true;
      if (rest.substr(1).starts_with('^')) ++i;
      if (expression.substr(i + 1).starts_with(']')) ++i;  // a leading ] is a member of the class
    } else if (begins_with_one_of(rest, {"(*", "{,"})) {
      return rest.substr(0, 2);
    } else if (rest.starts_with("(?") &&
               !begins_with_one_of(rest, {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P<", "(?P="})) {
      return rest.substr(0, 3);
    }
  }
  return {};
}

}  // namespace

struct python_pattern::compiled {
  owned<pcre2_code> code;
};

python_pattern::python_pattern(const std::string& expression) {
  if (const auto what = misread(expression); !what.empty())
    throw model_error(fmt::format("'{}' is not supported", what));
  const auto context = own(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE place = 0;
  constexpr uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C;
  owned<pcre2_code> code(
      pcre2_compile(bytes(expression), expression.size(), options, &error, &place, context.get()));
  if (code == nullptr) throw model_error(message(error));
  compiled_ = std::make_shared<const compiled>(compiled{std::move(code)});
}

bool python_pattern::matches_all_of(std::string_view text) const {
  const auto data = own(pcre2_match_data_create(1, nullptr));
  const auto context = own(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(context.get(), max_match_steps);
  pcre2_set_heap_limit(context.get(), max_match_heap_kib);
  const auto found = pcre2_match(compiled_->code.get(), bytes(text), text.size(), 0, PCRE2_NO_UTF_CHECK,
                                 data.get(), context.get());
  if (found < 0 && found != PCRE2_ERROR_NOMATCH) throw model_error(message(found));
  return found >= 0;
}

}  // namespace troupe::llm
