#include "tools/commands/wait_condition.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <stdexcept>

#include "messages/common/parse_json.hpp"

namespace troupe {

wait_condition::wait_condition(const std::string& text) {
  std::istringstream words(text);
  std::string value;
  words >> field_ >> op_;
  std::getline(words >> std::ws, value);
  const bool known = op_ == "==" || op_ == "!=" || op_ == "<" || op_ == "<=" || op_ == ">" || op_ == ">=";
  if (!known || value.empty())
    throw std::invalid_argument(
        "--wait takes FIELD OP VALUE, as in 'queued_requests == 0'; OP is one of == != < <= > >=");
  value_ = parse_json(value);
  if (value_.is_discarded()) value_ = value;
}

bool wait_condition::holds(const nlohmann::json& answer) const {
  const auto* at = &answer;
  std::istringstream path(field_);
  for (std::string step; std::getline(path, step, '.');) {
    if (at->is_array()) {
      size_t i = 0;
      const auto* end = step.data() + step.size();
      if (const auto r = std::from_chars(step.data(), end, i); r.ec != std::errc{} || r.ptr != end)
        throw std::invalid_argument(fmt::format("'{}': '{}' is not a position in a list", field_, step));
      if (i >= at->size()) return false;
      at = &(*at)[i];
    } else if (at->is_object() && at->contains(step)) {
      at = &(*at)[step];
    } else {
      std::string known;
      if (at->is_object())
        for (const auto& [name, unused] : at->items()) known += (known.empty() ? "" : ", ") + name;
      throw std::invalid_argument(fmt::format("the answer has no field '{}'{}", field_,
                                              known.empty() ? "" : "; there are: " + known));
    }
  }
  if (op_ == "==") return *at == value_;
  if (op_ == "!=") return *at != value_;
  if (!(at->is_number() && value_.is_number()) && !(at->is_string() && value_.is_string()))
    throw std::invalid_argument(
        fmt::format("'{}' is {}, which {} cannot compare with {}", field_, at->dump(), op_, value_.dump()));
  if (op_ == "<") return *at < value_;
  if (op_ == "<=") return *at <= value_;
  if (op_ == ">") return *at > value_;
  return *at >= value_;
}

}  // namespace troupe
