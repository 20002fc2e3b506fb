// Conversion of any message to and from JSON, generic over its fields: for commands, logs and tests. Keys are
// the field names; ids are numbers, times and durations nanoseconds, enums their names, bytes hexadecimal
// text. Header-only, since plug-ins use it.
#pragma once
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "messages/wire/wire.hpp"

namespace troupe {

/// `what()` names the field, as a path, and the values that it takes.
struct json_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <message_type T>
nlohmann::json to_json(const T& x);
template <message_type T>
T from_json(const nlohmann::json& j, const std::string& at = T::type_name);

namespace detail {

inline std::string hex(const std::vector<uint8_t>& data) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * data.size());
  for (auto b : data) {
    out += digits[b >> 4];
    out += digits[b & 15];
  }
  return out;
}

inline std::vector<uint8_t> unhex(const std::string& text, const std::string& at) {
  std::vector<uint8_t> out(text.size() / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const char* p = text.data() + 2 * i;
    if (const auto r = std::from_chars(p, p + 2, out[i], 16); r.ptr != p + 2)
      throw json_error(at + ": not hexadecimal");
  }
  if (text.size() % 2 != 0) throw json_error(at + ": an odd number of hexadecimal digits");
  return out;
}

template <class T>
inline constexpr bool is_std_vector = false;
template <class E>
inline constexpr bool is_std_vector<std::vector<E>> = true;

template <class F>
nlohmann::json json_of(const F& v) {
  if constexpr (std::is_same_v<F, std::vector<uint8_t>>) {
    return hex(v);
  } else if constexpr (is_std_vector<F>) {
    auto list = nlohmann::json::array();
    for (const auto& e : v) list.push_back(json_of(e));
    return list;
  } else if constexpr (message_type<F>) {
    return to_json(v);
  } else if constexpr (is_strong_id<F>) {
    return v.value;
  } else if constexpr (std::is_same_v<F, time_point>) {
    return v.time_since_epoch().count();
  } else if constexpr (std::is_same_v<F, duration>) {
    return v.count();
  } else if constexpr (std::is_enum_v<F>) {
    return std::string(to_string(v));
  } else {
    return v;
  }
}

template <class I>
I integer_of(const nlohmann::json& j, const std::string& at) {
  const auto fail = [&] {
    return json_error(at + ": must be an integer in " + std::to_string(std::numeric_limits<I>::min()) + ".." +
                      std::to_string(std::numeric_limits<I>::max()));
  };
  if (!j.is_number_integer()) throw fail();
  if (j.is_number_unsigned()) {
    const auto v = j.get<uint64_t>();
    if (v > static_cast<uint64_t>(std::numeric_limits<I>::max())) throw fail();
    return static_cast<I>(v);
  }
  const auto v = j.get<int64_t>();
  if constexpr (std::is_unsigned_v<I>) {
    throw fail();
  } else {
    if (v < std::numeric_limits<I>::min() || v > std::numeric_limits<I>::max()) throw fail();
    return static_cast<I>(v);
  }
}

template <class F>
F value_of(const nlohmann::json& j, const std::string& at) {
  if constexpr (std::is_same_v<F, std::vector<uint8_t>>) {
    if (!j.is_string()) throw json_error(at + ": must be a hexadecimal string");
    return unhex(j.get<std::string>(), at);
  } else if constexpr (is_std_vector<F>) {
    if (!j.is_array()) throw json_error(at + ": must be a list");
    F out;
    for (size_t i = 0; i < j.size(); ++i)
      out.push_back(value_of<typename F::value_type>(j[i], at + "[" + std::to_string(i) + "]"));
    return out;
  } else if constexpr (message_type<F>) {
    return from_json<F>(j, at);
  } else if constexpr (is_strong_id<F>) {
    return F{integer_of<typename F::rep>(j, at)};
  } else if constexpr (std::is_same_v<F, time_point>) {
    return time_point{duration{integer_of<int64_t>(j, at)}};
  } else if constexpr (std::is_same_v<F, duration>) {
    return duration{integer_of<int64_t>(j, at)};
  } else if constexpr (std::is_enum_v<F>) {
    std::string known;
    for (size_t k = 0; k < enum_count<F>; ++k) {
      const auto name = to_string(static_cast<F>(k));
      if (j.is_string() && j.get_ref<const std::string&>() == name) return static_cast<F>(k);
      known += (k ? ", " : "") + std::string(name);
    }
    throw json_error(at + ": must be one of " + known);
  } else if constexpr (std::is_same_v<F, bool>) {
    if (!j.is_boolean()) throw json_error(at + ": must be true or false");
    return j.get<bool>();
  } else if constexpr (std::is_integral_v<F>) {
    return integer_of<F>(j, at);
  } else if constexpr (std::is_floating_point_v<F>) {
    if (!j.is_number()) throw json_error(at + ": must be a number");
    return j.get<F>();
  } else {
    static_assert(std::is_same_v<F, std::string>);
    if (!j.is_string()) throw json_error(at + ": must be a string");
    return j.get<std::string>();
  }
}

}  // namespace detail

template <message_type T>
nlohmann::json to_json(const T& x) {
  auto out = nlohmann::json::object();
  size_t i = 0;
  x.fields([&](const auto&... v) { ((out[std::string(T::field_names[i++])] = detail::json_of(v)), ...); });
  return out;
}

/// All fields are required, and others are an error. Throws `json_error`.
template <message_type T>
T from_json(const nlohmann::json& j, const std::string& at) {
  if (!j.is_object()) throw json_error(at + ": must be an object");
  for (const auto& [key, value] : j.items()) {
    bool known = false;
    for (auto name : T::field_names) known = known || name == key;
    if (!known) throw json_error(at + "." + key + ": unknown field");
  }
  T x{};
  size_t i = 0;
  auto one = [&]<class F>(F& v) {
    const std::string name(T::field_names[i++]);
    const auto it = j.find(name);
    if (it == j.end()) throw json_error(at + "." + name + ": missing");
    v = detail::value_of<F>(*it, at + "." + name);
  };
  x.fields([&](auto&... v) { (one(v), ...); });
  return x;
}

}  // namespace troupe
