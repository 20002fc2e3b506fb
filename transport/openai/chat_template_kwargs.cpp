#include "transport/openai/chat_template_kwargs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::openai {
namespace {

constexpr size_t max_kwargs_bytes = size_t{64} << 10;

// Set by the server, options of other fields, and functions of templates.
constexpr std::string_view reserved_names[] = {"add_generation_prompt",
                                               "chat_template",
                                               "continue_final_message",
                                               "dict",
                                               "documents",
                                               "messages",
                                               "namespace",
                                               "range",
                                               "raise_exception",
                                               "strftime_now",
                                               "tokenize",
                                               "tools"};

bool is_reserved(std::string_view name) {
  return name.ends_with("_token") || std::ranges::find(reserved_names, name) != std::end(reserved_names);
}

}  // namespace

nlohmann::ordered_json take_chat_template_kwargs(body_reader& in) {
  const std::string field = "chat_template_kwargs";
  if (in.peek() != '{') in.wrong(field, "must be an object of variables for the chat template");
  const auto raw = in.raw();
  if (raw.size() > max_kwargs_bytes)
    refuse(field,
           fmt::format("{}: has {} bytes; at most {} are allowed", field, raw.size(), max_kwargs_bytes));
  bool fits = true;
  const auto check = [&](int, nlohmann::ordered_json::parse_event_t, const nlohmann::ordered_json& v) {
    fits = fits && (!v.is_number_unsigned() || std::in_range<int64_t>(v.get<uint64_t>()));
    return true;
  };
  auto variables = nlohmann::ordered_json::parse(raw, check, false);
  if (variables.is_discarded() || !fits) refuse(field, field + ": has a number that is too large");
  for (const auto& [name, value] : variables.items())
    if (is_reserved(name))
      refuse(field, fmt::format("{}: must not set {}, which the server gives to the template; leave it out",
                                field, shortened(name)));
  return variables;
}

}  // namespace troupe::openai
