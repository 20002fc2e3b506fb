// The values of a template, with Python's types. All except namespaces and generators are immutable, so
// copies share their content.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/chat_template/budget.hpp"

namespace troupe::llm::jinja {

struct bound_method;
struct dict;
struct loop_state;
struct macro;
struct name_space;
struct sequence;

/// The value of a missing name or attribute. Prints as an empty text; most other uses throw `why`.
struct undefined {
  std::shared_ptr<const std::string> why;
};
struct none {};
enum class global_function : uint8_t { range, name_space, dict, raise_exception, strftime_now };

using text_ptr = std::shared_ptr<const std::string>;
using sequence_ptr = std::shared_ptr<const sequence>;
using dict_ptr = std::shared_ptr<const dict>;
using method_ptr = std::shared_ptr<const bound_method>;

/// Namespaces, loops and macros can form cycles, so the session owns them, and values point to them.
using value = std::variant<undefined, none, bool, int64_t, double, text_ptr, sequence_ptr, dict_ptr,
                           name_space*, loop_state*, const macro*, global_function, method_ptr>;

enum class sequence_kind : uint8_t { list, tuple, range, items_view, keys_view, values_view, generator };

struct sequence {
  sequence_kind kind;
  std::vector<value> items;
  uint32_t depth;
  mutable size_t taken = 0;  // items taken from a generator; values never leave the thread of their rendering
};

/// A dict in insertion order. Keys are texts, numbers, booleans or none.
struct dict {
  std::vector<std::pair<value, value>> items;
  std::unordered_map<std::string, size_t> index;  // by dict_key(); only for dicts with more than a few items
  uint32_t depth = 1;
};

struct bound_method {
  value self;
  std::string name;
};

struct name_space {
  std::map<std::string, value, std::less<>> attributes;
};

struct loop_state {
  sequence_ptr items;
  size_t at = 0;
};

value make_text(std::string_view s);
/// Throws refusal if the list is nested too deeply.
value make_sequence(sequence_kind kind, std::vector<value> items);
inline value make_list(std::vector<value> items) {
  return make_sequence(sequence_kind::list, std::move(items));
}
inline value make_generator(std::vector<value> items) {
  return make_sequence(sequence_kind::generator, std::move(items));
}
value make_undefined(std::string why);

/// Builds a dict. A repeated key changes its value and keeps its place.
class dict_builder {
 public:
  /// True if the key is new. Throws refusal for an invalid key.
  bool put(const value& key, value v);
  value take();

 private:
  std::shared_ptr<dict> dict_ = std::make_shared<dict>();
};

/// Throws refusal if the JSON is nested too deeply or has a number out of range.
value from_json(const nlohmann::ordered_json& json, uint32_t depth = 0);

/// Null if the key is missing. Throws refusal for a key that Python cannot hash; other unsupported keys count
/// as missing.
const value* find(const dict& d, const value& key);
const value* find(const dict& d, std::string_view key);

inline bool is_undefined(const value& v) { return std::holds_alternative<undefined>(v); }
inline bool is_none(const value& v) { return std::holds_alternative<none>(v); }
inline const std::string* text_of(const value& v) {
  const auto* t = std::get_if<text_ptr>(&v);
  return t != nullptr ? t->get() : nullptr;
}
inline const sequence* sequence_of(const value& v) {
  const auto* s = std::get_if<sequence_ptr>(&v);
  return s != nullptr ? s->get() : nullptr;
}
/// Null if the value is not a sequence of this kind.
const sequence* sequence_of(const value& v, sequence_kind kind);
inline const dict* dict_of(const value& v) {
  const auto* d = std::get_if<dict_ptr>(&v);
  return d != nullptr ? d->get() : nullptr;
}
/// Booleans are integers, as in Python. False for other types.
bool integer_of(const value& v, int64_t& out);

/// Python's name of the type.
std::string_view type_name(const value& v);

/// Throws the refusal of an undefined value.
[[noreturn]] void refuse_undefined(const value& v);

bool truth(const value& v);

/// The items to iterate over: of a sequence its elements, of a dict its keys, of a text its characters. Takes
/// all remaining items of a generator. Throws refusal if the value is not iterable.
sequence_ptr iterate(const value& v, budget& cost);

/// Python's len().
int64_t length(const value& v, budget& cost);

}  // namespace troupe::llm::jinja
