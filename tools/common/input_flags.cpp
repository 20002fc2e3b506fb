#include "tools/common/input_flags.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"

namespace troupe {
namespace {

constexpr int64_t max_flag_dimension = INT32_MAX;

/// "NAME=VALUE" in two.
std::pair<std::string, std::string> split_flag(const std::string& flag, const std::string& text) {
  const auto at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    throw model_error(fmt::format("{} {}: must be NAME=..., the name of an input and a value", flag, text));
  return {text.substr(0, at), text.substr(at + 1)};
}

/// "1x3x320x320"; empty: a scalar.
std::vector<int64_t> dims_of(const std::string& text, const std::string& whole) {
  std::vector<int64_t> out;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    const char* end = text.data() + text.size();
    int64_t d = 0;
    const auto [rest, error] = std::from_chars(at, end, d);
    const bool more = rest != end;
    if (error != std::errc{} || d < 1 || d > max_flag_dimension ||
        (more && (*rest != 'x' || rest + 1 == end)))
      throw model_error(fmt::format("--shape {}: must be NAME=1x3x224x224, dimensions from 1 to {}", whole,
                                    max_flag_dimension));
    out.push_back(d);
    at = more ? rest + 1 : rest;
  }
  return out;
}

double number_of(const std::string& text, const std::string& whole) {
  double out = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || rest != text.data() + text.size() || !std::isfinite(out))
    throw model_error(fmt::format("--constant {}: must be NAME=NUMBER", whole));
  return out;
}

}  // namespace

input_shape parse_shape_flag(const std::string& text) {
  auto [name, dims] = split_flag("--shape", text);
  return {name, dims_of(dims, text)};
}

input_constant parse_constant_flag(const std::string& text) {
  auto [name, value] = split_flag("--constant", text);
  return {name, number_of(value, text)};
}

}  // namespace troupe
