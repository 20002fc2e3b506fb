// Checked access to untrusted configuration files: JSON objects, read key by key, with limits for every
// value.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm {

/// The order of keys matters: PEFT takes the first pattern that matches.
using ordered_json = nlohmann::ordered_json;

/// Throws model_error, which names the file, if the text is not a JSON object, or exceeds the limits of size,
/// depth and keys.
ordered_json parse_object(std::string_view text, const std::string& file);

/// An object within a file; both must outlive it. Null counts as absent. All functions throw model_error,
/// which names file, key, value and the expected value.
class json_object {
 public:
  /// `place` comes before the keys in messages: "rope_scaling.".
  json_object(const ordered_json& object, const std::string& file, std::string place = "");

  /// Null or absent.
  bool lacks(const char* key) const { return value(key) == nullptr; }
  bool mentions(const char* key) const { return object_->contains(key); }  ///< also if null
  const ordered_json& at(const char* key) const;                           ///< throws if absent

  /// Required:
  uint64_t integer(const char* key, uint64_t low, uint64_t high) const;
  double number(const char* key, double low, double high) const;
  std::string text(const char* key) const;
  /// Optional, with default `otherwise`:
  uint64_t integer(const char* key, uint64_t low, uint64_t high, uint64_t otherwise) const;
  double number(const char* key, double low, double high, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, std::string otherwise) const;
  /// None if absent.
  std::optional<json_object> object(const char* key) const;

  /// "<file>: '<place><key>'", the beginning of messages.
  std::string named(std::string_view key) const;
  /// "<file>: '<place><key>' <what>".
  [[noreturn]] void fail(std::string_view key, std::string_view what) const;
  /// "<file>: '<place><key>' is <value>: it must be <what>".
  [[noreturn]] void refuse(std::string_view key, const ordered_json& value, std::string_view what) const;
  const ordered_json& items() const { return *object_; }

 private:
  const ordered_json* value(const char* key) const;

  const ordered_json* object_;
  const std::string* file_;
  std::string place_;
};

}  // namespace troupe::llm
