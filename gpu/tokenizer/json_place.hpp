// A value in a JSON file, and where it lies, for messages: "tokenizer.json: model.vocab has ...".
#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "messages/llm/token.hpp"

namespace troupe::llm {

/// The bytes of a file. Throws model_error if it cannot be read or has more than `most`.
std::string read_file(const std::filesystem::path& file, uint64_t max_bytes);

/// Ids from here on are refused: no model has as many tokens, and every id below the greatest takes memory.
constexpr uint64_t max_vocabulary_size = 1 << 21;

/// Refers to a document that lives longer. Every method throws model_error if the value is not as asked for.
class json_place {
 public:
  json_place(const std::string& file, const nlohmann::json& value, std::string path = "")
      : file_(&file), value_(&value), path_(std::move(path)) {}

  [[noreturn]] void refuse(std::string_view what) const;

  /// Of an object; throws if it is missing.
  json_place at(const char* key) const;
  /// Of an object; nothing if it is missing or null.
  std::optional<json_place> find(const char* key) const;
  bool has(const char* key) const { return find(key).has_value(); }

  const nlohmann::json& object() const;
  const nlohmann::json& array() const;
  const std::string& string() const;
  bool boolean() const;
  token id() const;
  /// Of an object: `otherwise` if it is missing or null.
  bool boolean(const char* key, bool otherwise) const;
  /// Of an object: its "type".
  const std::string& type() const { return at("type").string(); }

  json_place element(size_t i) const;
  /// A member of this object, by a key of any kind.
  json_place member(const std::string& key, const nlohmann::json& value) const;

 private:
  const std::string* file_;
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace troupe::llm
