// A protocol as data, generic over its commands: plug-ins describe theirs in the same way
// (plugins/protocol.hpp).
#pragma once
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/commands.hpp"
#include "messages/wire/json.hpp"

namespace troupe {
namespace detail {

using ordered = nlohmann::ordered_json;

template <message_type T>
ordered fields_of_struct();

template <class F>
void describe(ordered& out) {
  if constexpr (is_std_vector<F> && !std::is_same_v<F, std::vector<uint8_t>>) {
    out["type"] = "list";
    ordered of;
    describe<typename F::value_type>(of);
    out["of"] = std::move(of);
  } else if constexpr (message_type<F>) {
    out["type"] = "object";
    out["fields"] = fields_of_struct<F>();
  } else if constexpr (std::is_same_v<F, time_point>) {
    out["type"] = "integer";
    out["unit"] = "ns of the node's clock";
  } else if constexpr (std::is_same_v<F, duration>) {
    out["type"] = "integer";
    out["unit"] = "ns";
  } else if constexpr (std::is_enum_v<F>) {
    out["type"] = "text";
    for (size_t k = 0; k < enum_count<F>; ++k)
      out["values"].push_back(std::string(to_string(static_cast<F>(k))));
  } else if constexpr (is_strong_id<F>) {
    describe<typename F::rep>(out);
  } else if constexpr (std::is_same_v<F, bool>) {
    out["type"] = "true or false";
  } else if constexpr (std::is_integral_v<F>) {
    out["type"] = "integer";
    out["min"] = std::numeric_limits<F>::min();
    out["max"] = std::numeric_limits<F>::max();
  } else if constexpr (std::is_floating_point_v<F>) {
    out["type"] = "number";
  } else {
    out["type"] = std::is_same_v<F, std::string> ? "text" : "hexadecimal text";
  }
}

/// Some names end in the unit: "output_bytes".
inline void add_unit(ordered& field, std::string_view name) {
  if (name.ends_with("_bytes") && !field.contains("unit")) field["unit"] = "bytes";
}

template <message_type T>
ordered fields_of_struct() {
  auto out = ordered::array();
  size_t i = 0;
  const auto one = [&]<class F>(const F&) {
    ordered field{{"name", std::string(T::field_names[i])}};
    describe<F>(field);
    add_unit(field, T::field_names[i]);
    ++i;
    out.push_back(std::move(field));
  };
  T{}.fields([&](const auto&... v) { (one(v), ...); });
  return out;
}

}  // namespace detail

/// {"command": {"about", "fields": [field...], "reply": [field...]}}. A field is {"name", "type", "unit"?,
/// "min"?, "max"?, "values"?, "fields"?, "of"?}.
template <class... Es>
nlohmann::ordered_json protocol_schema(type_list<Es...>) {
  auto out = nlohmann::ordered_json::object();
  [[maybe_unused]] const auto one = [&]<class E>(std::type_identity<E>) {
    out[E::command::type_name] = {{"about", about<typename E::command>()},
                                  {"fields", detail::fields_of_struct<typename E::command>()},
                                  {"reply", detail::fields_of_struct<typename E::reply>()}};
  };
  (one(std::type_identity<Es>{}), ...);
  return out;
}

}  // namespace troupe
