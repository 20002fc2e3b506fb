// `FIELD OP VALUE`, the condition of `troupe ask --wait`: a field of a reply, or of an object or list in it
// ("slots.2.state"); == != < <= > >=; a JSON value, or a plain string.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace troupe {

class wait_condition {
 public:
  /// Throws std::invalid_argument that names the error in the text.
  explicit wait_condition(const std::string& text);

  /// False, too, while a list has no such entry yet. Throws std::invalid_argument if the answer has no such
  /// field, or one that the operator cannot compare with the value.
  bool holds(const nlohmann::json& answer) const;

 private:
  std::string field_, op_;
  nlohmann::json value_;
};

}  // namespace troupe
