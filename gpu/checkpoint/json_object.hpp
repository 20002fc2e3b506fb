// Configuration files that strangers wrote: JSON objects, read key by key, every value with its limits.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::llm {

/// The order of the keys counts (PEFT takes the first pattern that matches).
using ordered_json = nlohmann::ordered_json;

/// Throws model_error, naming the file, if the text is no JSON object, or is larger, deeper or has more keys
/// than a configuration can have.
ordered_json parse_object(std::string_view text, const std::string& file);

/// An object within a file; both must outlive it. What is null counts as absent. All throw model_error, which
/// names file, key, value and what it must be.
class json_object {
 public:
  /// `place` comes before the keys in messages: "rope_scaling.".
  json_object(const ordered_json& object, const std::string& file, std::string place = "");

  /// Null or absent.
  bool lacks(const char* key) const { return value(key) == nullptr; }
  bool mentions(const char* key) const { return object_->contains(key); }  ///< null or not
  const ordered_json& at(const char* key) const;                           ///< Throws if it is lacking.

  /// Required:
  uint64_t integer(const char* key, uint64_t low, uint64_t high) const;
  double number(const char* key, double low, double high) const;
  std::string text(const char* key) const;
  /// Or else `otherwise`:
  uint64_t integer(const char* key, uint64_t low, uint64_t high, uint64_t otherwise) const;
  double number(const char* key, double low, double high, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, std::string otherwise) const;
  /// Nothing if it is lacking.
  std::optional<json_object> object(const char* key) const;

  /// "<file>: '<place><key>'": what messages begin with.
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
