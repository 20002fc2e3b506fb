// The values of a template: Python's, as far as templates see them. All are immutable but namespaces and
// generators, so copies share what they hold.
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

/// What a name or an attribute that does not exist gives. Prints as nothing; most other uses throw `why`.
struct undefined {
  std::shared_ptr<const std::string> why;
};
struct none {};
enum class global_function : uint8_t { range, name_space, dict, raise_exception, strftime_now };

using text_ptr = std::shared_ptr<const std::string>;
using sequence_ptr = std::shared_ptr<const sequence>;
using dict_ptr = std::shared_ptr<const dict>;
using method_ptr = std::shared_ptr<const bound_method>;

/// Namespaces, loops and macros can refer to each other in cycles: the session owns them, values point at
/// them.
using value = std::variant<undefined, none, bool, int64_t, double, text_ptr, sequence_ptr, dict_ptr,
                           name_space*, loop_state*, const macro*, global_function, method_ptr>;

enum class sequence_kind : uint8_t { list, tuple, range, items_view, keys_view, values_view, generator };

struct sequence {
  sequence_kind kind;
  std::vector<value> items;
  uint32_t depth;
  mutable size_t taken = 0;  // a generator gives each item once; values never leave their rendering's thread
};

/// In the order of insertion. Keys are texts, numbers, booleans or none.
struct dict {
  std::vector<std::pair<value, value>> items;
  std::unordered_map<std::string, size_t> index;  // by dict_key(), of dicts with more than a few items
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

/// Collects the items of a dict; a key that comes again changes its value and keeps its place.
class dict_builder {
 public:
  /// True if the key is new. Throws refusal for what cannot be a key.
  bool put(const value& key, value v);
  value take();

 private:
  std::shared_ptr<dict> dict_ = std::make_shared<dict>();
};

/// Throws refusal if it is nested too deeply or holds a number that does not fit.
value from_json(const nlohmann::ordered_json& json, uint32_t depth = 0);

/// Null if there is none. A key that Python cannot hash throws refusal, others that cannot be are not found.
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
/// Null too if it is a sequence of another kind.
const sequence* sequence_of(const value& v, sequence_kind kind);
inline const dict* dict_of(const value& v) {
  const auto* d = std::get_if<dict_ptr>(&v);
  return d != nullptr ? d->get() : nullptr;
}
/// Booleans are integers, as in Python. Nothing if it is something else.
bool integer_of(const value& v, int64_t& out);

/// Python's name of the type.
std::string_view type_name(const value& v);

/// Throws refusal: what an undefined value answers to most uses.
[[noreturn]] void refuse_undefined(const value& v);

bool truth(const value& v);

/// The items to go through: of a sequence themselves, of a dict its keys, of a text its characters; what is
/// left of a generator, which is empty then. Throws refusal if the value has none.
sequence_ptr iterate(const value& v, budget& cost);

/// Python's len().
int64_t length(const value& v, budget& cost);

}  // namespace troupe::llm::jinja
