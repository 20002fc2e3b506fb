// A value in a JSON file with its path, for messages: "tokenizer.json: model.vocab has ...".
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// Larger tokenizers are refused; the largest known one, of 262,144 tokens, has 33 MB.
constexpr uint64_t max_tokenizer_bytes = 128 << 20;

/// Larger ids are refused: no model has as many tokens, and every id below the greatest takes memory.
constexpr uint64_t max_vocabulary_size = 1 << 21;

/// Refers to a document, which must outlive it. Every function throws model_error if the value has another
/// type.
class json_place {
 public:
  json_place(const std::string& file, const nlohmann::json& value, std::string path = "")
      : file_(&file), value_(&value), path_(std::move(path)) {}

  [[noreturn]] void refuse(std::string_view what) const;

  /// Member of an object; throws if it is missing.
  json_place at(const char* key) const;
  /// Member of an object; none if it is missing or null.
  std::optional<json_place> find(const char* key) const;
  bool has(const char* key) const { return find(key).has_value(); }

  const nlohmann::json& object() const;
  const nlohmann::json& array() const;
  const std::string& string() const;
  bool boolean() const;
  token id() const;
  /// Member of an object; `otherwise` if it is missing or null.
  bool boolean(const char* key, bool otherwise) const;
  /// Member "type" of an object.
  const std::string& type() const { return at("type").string(); }

  json_place element(size_t i) const;
  /// A place for a member of this object, with any characters in its key.
  json_place member(const std::string& key, const nlohmann::json& value) const;

 private:
  const std::string* file_;
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace troupe::llm
