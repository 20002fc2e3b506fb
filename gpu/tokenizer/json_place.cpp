#include "gpu/tokenizer/json_place.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"

namespace troupe::llm {

void json_place::refuse(std::string_view what) const {
  throw model_error(fmt::format("{}: {} {}", *file_, path_.empty() ? "the document" : path_, what));
}

json_place json_place::member(const std::string& key, const nlohmann::json& value) const {
  return {*file_, value, path_.empty() ? key : path_ + "." + key};
}

json_place json_place::element(size_t i) const {
  return {*file_, array()[i], fmt::format("{}[{}]", path_, i)};
}

std::optional<json_place> json_place::find(const char* key) const {
  const auto found = object().find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return member(key, *found);
}

json_place json_place::at(const char* key) const {
  auto found = find(key);
  if (!found) refuse(fmt::format("has no '{}'", key));
  return std::move(*found);
}

const nlohmann::json& json_place::object() const {
  if (!value_->is_object()) refuse("is not an object");
  return *value_;
}

const nlohmann::json& json_place::array() const {
  if (!value_->is_array()) refuse("is not an array");
  return *value_;
}

const std::string& json_place::string() const {
  if (!value_->is_string()) refuse("is not a string");
  return value_->get_ref<const std::string&>();
}

bool json_place::boolean() const {
  if (!value_->is_boolean()) refuse("is not true or false");
  return value_->get<bool>();
}

bool json_place::boolean(const char* key, bool otherwise) const {
  const auto found = find(key);
  return found ? found->boolean() : otherwise;
}

token json_place::id() const {
  if (!value_->is_number_unsigned() || value_->get<uint64_t>() >= max_vocabulary_size)
    refuse(fmt::format("is not a token id: a whole number below {}", max_vocabulary_size));
  return static_cast<token>(value_->get<uint64_t>());
}

}  // namespace troupe::llm
