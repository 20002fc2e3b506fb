// Reader of a request's body, field by field: nothing is built for ignored fields, and every refusal names
// its field. Errors are thrown as openai::error and caught by `read_body`; they never leave transport/.
#pragma once
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/http/result.hpp"
#include "transport/kserve/json.hpp"
#include "transport/openai/error.hpp"

namespace troupe::openai {

[[noreturn]] inline void refuse(std::string param, std::string message) {
  throw error{400, std::move(message), std::move(param), {}};
}

/// A field, or an element of a list, as refusals name it: "prompt", "prompt[3]".
class place {
 public:
  place(const char* name) : name_(name) {}
  place(const std::string& name) : name_(name) {}
  place(const std::string& list, size_t index) : name_(list), index_(index) {}
  std::string text() const {
    std::string s(name_);
    return index_ ? s + "[" + std::to_string(*index_) + "]" : s;
  }

 private:
  std::string_view name_;  // the caller's
  std::optional<size_t> index_;
};

class body_reader {
 public:
  /// Reads the fields of `text`, one JSON object.
  explicit body_reader(std::string_view text) : in_(text) {}

  /// Calls `field(key)` for each field that is not null: it takes the value, or returns false to ignore the
  /// field. A taken field must not occur twice.
  template <class Field>
  void read(Field field) {
    try {
      in_.read_object([&](const std::string& key) {
        current_ = key.size() <= 64 ? key : std::string();
        if (take_null()) return;
        if (!field(key)) {
          in_.read_raw();
          return;
        }
        for (const auto& other : taken_)
          if (other == key) refuse(key, key + ": is given twice");
        taken_.push_back(key);
      });
      current_.clear();
      in_.read_end();
    } catch (http_error& e) {  // no JSON
      throw error{400, std::move(e.message), std::move(current_), {}};
    }
  }
  bool has(std::string_view key) const;

  /// The next value.
  bool boolean(place at);
  /// From `min` to `max`, both included; 3.0 is a whole number, too.
  int64_t whole(place at, int64_t min, int64_t max);
  template <std::integral I>
  I whole(place at, int64_t min, int64_t max = std::numeric_limits<I>::max()) {
    return static_cast<I>(whole(at, min, max));
  }
  /// A 64-bit integer, with or without a sign, as two's complement.
  uint64_t bits(place at);
  double number(place at, double min, double max);
  std::string text(place at, size_t longest = std::numeric_limits<size_t>::max());
  /// The checked text of any value.
  std::string_view raw() { return in_.read_raw(); }
  /// Calls `element(place)` for each element, at most `max`; it takes the value.
  template <class Element>
  void list(const std::string& name, size_t max, Element element) {
    if (peek() != '[') wrong(name, "must be a list");
    size_t count = 0;
    in_.read_array([&] {
      if (count == max) refuse(name, name + ": has more than " + std::to_string(max) + " elements");
      element(place(name, count++));
    });
  }
  /// Calls `member(key)` for each member; it takes the value.
  template <class Member>
  void object(place at, Member member) {
    if (peek() != '{') wrong(at, "must be an object");
    in_.read_object(member);
  }
  bool take_null();
  char peek() { return in_.peek(); }
  void end() { in_.read_end(); }  ///< nothing is left

  /// Refuses the next value: "<place>: must ..., it is ...".
  [[noreturn]] void wrong(place at, std::string_view must);

 private:
  bool is_number() { return peek() == '-' || (peek() >= '0' && peek() <= '9'); }

  json_reader in_;
  std::string current_;  // the field that is read
  std::vector<std::string> taken_;
};

/// The result of `read(body_reader&)` on a body, or the error.
template <class Read>
auto read_body(std::string_view body, Read read) -> result<decltype(read(std::declval<body_reader&>()))> {
  try {
    body_reader in(body);
    return read(in);
  } catch (error& e) {
    return std::move(e);
  } catch (http_error& e) {
    return error{400, std::move(e.message), {}, {}};
  }
}

/// Up to 40 characters of it, in quotes.
std::string shortened(std::string_view text);

}  // namespace troupe::openai
