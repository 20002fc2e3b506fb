// Refusals of the KServe reader: thrown as http_error, with the message for the client.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/tensor/tensor.hpp"
#include "transport/http/message.hpp"
#include "transport/http/result.hpp"

namespace troupe::kserve {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw http_error{400, fmt::format(format, std::forward<Args>(args)...)};
}

inline std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

inline std::string names_of(const std::vector<tensor_spec>& tensors) {
  std::string names;
  for (const auto& t : tensors) names += (names.empty() ? "" : ", ") + json_quote(t.name);
  return names;
}

inline std::string shortened(std::string_view text) {
  return json_quote(text.size() <= 80 ? std::string(text) : std::string(text.substr(0, 77)) + "...");
}

/// `fix`: the alternative, for the message.
inline bool has_json_form(const tensor_spec& t) {
  return t.type != data_type::fp16 && t.type != data_type::bf16;
}

inline void check_json_form(std::string_view what, const tensor_spec& t, std::string_view fix) {
  if (!has_json_form(t))
    refuse("{} {} is {}, which has no JSON form; {}", what, json_quote(t.name), to_string(t.type), fix);
}

}  // namespace troupe::kserve
