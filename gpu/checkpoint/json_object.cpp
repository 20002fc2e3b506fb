#include "gpu/checkpoint/json_object.hpp"

#include <fmt/format.h>

#include "gpu/checkpoint/shown_name.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

namespace {

constexpr size_t max_json_bytes = 4 << 20;
constexpr size_t max_json_keys = 8192;  // lookups in ordered objects are linear
constexpr int deepest = 32;

}  // namespace

ordered_json parse_object(std::string_view text, const std::string& file) {
  if (text.size() > max_json_bytes) {
    throw model_error(fmt::format("{}: has {} bytes, more than the {} of a configuration", file, text.size(),
                                  max_json_bytes));
  }
  size_t keys = 0;
  bool small = true;
  const auto limit = [&](int depth, ordered_json::parse_event_t event, const ordered_json&) {
    keys += event == ordered_json::parse_event_t::key;
    return small = small && depth <= deepest && keys <= max_json_keys;
  };
  ordered_json document;
  try {
    document = ordered_json::parse(text, limit);
  } catch (const ordered_json::parse_error& e) {
    throw model_error(fmt::format("{}: is not JSON from byte {} on", file, e.byte));
  } catch (const ordered_json::exception&) {
    throw model_error(fmt::format("{}: holds a number that is too large", file));
  }
  if (!small) {
    throw model_error(
        fmt::format("{}: is not a configuration: it has more than {} keys or is nested deeper than {}", file,
                    max_json_keys, deepest));
  }
  if (!document.is_object()) throw model_error(fmt::format("{}: is not a JSON object", file));
  return document;
}

json_object::json_object(const ordered_json& object, const std::string& file, std::string place)
    : object_(&object), file_(&file), place_(std::move(place)) {}

std::string json_object::named(std::string_view key) const {
  return fmt::format("{}: {}", *file_, shown_name(place_ + std::string(key)));
}

void json_object::fail(std::string_view key, std::string_view what) const {
  throw model_error(fmt::format("{} {}", named(key), what));
}

void json_object::refuse(std::string_view key, const ordered_json& value, std::string_view what) const {
  constexpr size_t longest = 60;
  std::string shown = value.is_structured()
                          ? std::string(value.is_array() ? "a list" : "an object")
                          : value.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  if (shown.size() > longest) shown.replace(longest, std::string::npos, "...");
  fail(key, fmt::format("is {}: it must be {}", shown, what));
}

const ordered_json* json_object::value(const char* key) const {
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const ordered_json& json_object::at(const char* key) const {
  const auto* v = value(key);
  if (v == nullptr) fail(key, "is missing");
  return *v;
}

uint64_t json_object::integer(const char* key, uint64_t low, uint64_t high) const {
  const auto& v = at(key);
  if (!v.is_number_unsigned() || v.get<uint64_t>() < low || v.get<uint64_t>() > high) {
    refuse(key, v, fmt::format("an integer from {} to {}", low, high));
  }
  return v.get<uint64_t>();
}

double json_object::number(const char* key, double low, double high) const {
  const auto& v = at(key);
  if (!v.is_number() || !(v.get<double>() >= low) || !(v.get<double>() <= high)) {
    refuse(key, v, fmt::format("a number from {} to {}", low, high));
  }
  return v.get<double>();
}

std::string json_object::text(const char* key) const {
  const auto& v = at(key);
  if (!v.is_string()) refuse(key, v, "a string");
  return v.get<std::string>();
}

uint64_t json_object::integer(const char* key, uint64_t low, uint64_t high, uint64_t otherwise) const {
  return lacks(key) ? otherwise : integer(key, low, high);
}

double json_object::number(const char* key, double low, double high, double otherwise) const {
  return lacks(key) ? otherwise : number(key, low, high);
}

bool json_object::flag(const char* key, bool otherwise) const {
  if (lacks(key)) return otherwise;
  const auto& v = at(key);
  if (!v.is_boolean()) refuse(key, v, "true or false");
  return v.get<bool>();
}

std::string json_object::text(const char* key, std::string otherwise) const {
  return lacks(key) ? std::move(otherwise) : text(key);
}

std::optional<json_object> json_object::object(const char* key) const {
  if (lacks(key)) return std::nullopt;
  const auto& v = at(key);
  if (!v.is_object()) refuse(key, v, "an object");
  return json_object(v, *file_, place_ + key + ".");
}

}  // namespace troupe::llm
