// Parameters of requests and tensors. Private to transport/kserve; errors are thrown as http_error. `where`
// begins their messages.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "transport/kserve/json.hpp"
#include "transport/kserve/refusal.hpp"

namespace troupe::kserve {

/// A number that is all of the text.
template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// Known keys of one JSON object, each at most once.
class known_keys {
 public:
  explicit known_keys(std::string where) : where_(std::move(where)) {}
  void once(bool& seen, std::string_view key) {
    if (std::exchange(seen, true)) refuse("{}key \"{}\" occurs twice", where_, key);
  }

 private:
  std::string where_;
};

/// The known "parameters" of a tensor or a request.
class parameter_reader {
 public:
  parameter_reader(json_reader& in, std::string where) : in_(in), where_(std::move(where)) {}

  /// Calls `known(key, value)` for each; it ignores unknown ones.
  template <class Known>
  void read(Known known) {
    if (in_.peek() != '{') in_.fail("an object under \"parameters\"");
    in_.read_object([&](const std::string& key) {
      const auto value = in_.read_raw();
      if (key.starts_with("shared_memory_"))
        throw http_error{501, where_ + "parameters." + key +
                                  ": shared memory is not supported; send the data in the body"};
      known(key, value);
    });
  }

  bool boolean(std::string_view key, std::string_view value) const {
    if (value != "true" && value != "false")
      refuse("{}parameters.{} is {}; it must be true or false", where_, key, shortened(value));
    return value == "true";
  }
  template <class T>
  T number(std::string_view key, std::string_view value, std::string_view of) const {
    const auto n = whole<T>(value);
    if (!n)
      refuse("{}parameters.{} is {}; it must be a whole number of {}", where_, key, shortened(value), of);
    return *n;
  }

 private:
  json_reader& in_;
  std::string where_;
};

}  // namespace troupe::kserve
