#include <fmt/format.h>
#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "config/cluster_file.hpp"

namespace troupe {

namespace {

toml::array array_of(const nlohmann::json& numbers, const std::string& at) {
  toml::array out;
  for (const auto& x : numbers) {
    if (x.is_number_integer())
      out.push_back(x.get<int64_t>());
    else if (x.is_number())
      out.push_back(x.get<double>());
    else
      throw std::runtime_error(fmt::format("{}: must hold numbers only", at));
  }
  return out;
}

/// Tables of a model are nested at most one level deep, and so must the client's be.
toml::table table_of(const nlohmann::json& object, const std::string& at = {}) {
  toml::table out;
  for (const auto& [key, value] : object.items()) {
    const auto here = at.empty() ? key : at + "." + key;
    if (value.is_object() && at.empty())
      out.insert(key, table_of(value, here));
    else if (value.is_string())
      out.insert(key, value.get<std::string>());
    else if (value.is_boolean())
      out.insert(key, value.get<bool>());
    else if (value.is_number_integer())
      out.insert(key, value.get<int64_t>());
    else if (value.is_number())
      out.insert(key, value.get<double>());
    else if (value.is_array() && !at.empty())
      out.insert(key, array_of(value, here));
    else
      throw std::runtime_error(
          fmt::format("{}: must be a string, a number, {}", here,
                      at.empty() ? "true, false or an object" : "an array of numbers, true or false"));
  }
  return out;
}

}  // namespace

std::string model_text_of_json(std::string_view json, const std::string& name) {
  auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object())
    throw std::runtime_error("must be a JSON object with the keys of a [[model]] table");
  if (!parsed.contains("name")) parsed["name"] = name;
  std::ostringstream out;
  out << table_of(parsed);
  return out.str();
}

}  // namespace troupe
