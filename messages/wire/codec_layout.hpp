// Offset of each field of a struct in its Cap'n Proto form. Fields are bound by name to the schema once, and
// every mismatch is an error; encoding and decoding (codec.hpp) then use the offsets.
#pragma once
#include <capnp/schema.h>

#include <array>
#include <bit>
#include <chrono>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "messages/wire/schema.hpp"

namespace troupe {
static_assert(std::endian::native == std::endian::little, "the codec stores host byte order");

struct codec_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using blob = std::vector<uint8_t>;

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class E>
inline constexpr bool is_vector<std::vector<E>> = true;
template <class T>
inline constexpr bool is_list = is_vector<T> && !std::is_same_v<T, blob>;

/// The stored form of a scalar field: ids are their integers, times nanoseconds.
template <class F>
auto to_raw(const F& v) {
  if constexpr (is_strong_id<F>)
    return v.value;
  else if constexpr (std::is_same_v<F, time_point>)
    return static_cast<int64_t>(v.time_since_epoch().count());
  else if constexpr (std::is_same_v<F, duration>)
    return static_cast<int64_t>(v.count());
  else if constexpr (std::is_enum_v<F>)
    return static_cast<uint16_t>(v);
  else
    return v;
}
template <class F>
using raw_t = decltype(to_raw(std::declval<const F&>()));
template <class F>
F from_raw(raw_t<F> r) {
  if constexpr (std::is_same_v<F, time_point>)
    return time_point{duration{r}};
  else if constexpr (std::is_enum_v<F>)
    return static_cast<F>(r);
  else
    return F{r};
}

template <class F>
inline constexpr bool is_scalar = std::is_arithmetic_v<F> || std::is_enum_v<F> || is_strong_id<F> ||
                                  std::is_same_v<F, time_point> || std::is_same_v<F, duration>;

/// An enum of the schema. Roles are plain numbers there: a new kind of actor leaves the schema as it is.
template <class F>
inline constexpr bool is_schema_enum = std::is_enum_v<F> && !std::is_same_v<F, role>;

/// The schema type of a C++ type; numbers match in width and sign.
template <class F>
constexpr capnp::schema::Type::Which kind_of() {
  using W = capnp::schema::Type;
  if constexpr (std::is_same_v<F, std::string>)
    return W::TEXT;
  else if constexpr (std::is_same_v<F, blob>)
    return W::DATA;
  else if constexpr (is_vector<F>)
    return W::LIST;
  else if constexpr (message_type<F>)
    return W::STRUCT;
  else if constexpr (is_schema_enum<F>)
    return W::ENUM;
  else {
    using R = raw_t<F>;
    if constexpr (std::is_same_v<R, bool>)
      return W::BOOL;
    else if constexpr (std::is_same_v<R, float>)
      return W::FLOAT32;
    else if constexpr (std::is_same_v<R, double>)
      return W::FLOAT64;
    else {
      constexpr bool s = std::is_signed_v<R>;
      return sizeof(R) == 1   ? (s ? W::INT8 : W::UINT8)
             : sizeof(R) == 2 ? (s ? W::INT16 : W::UINT16)
             : sizeof(R) == 4 ? (s ? W::INT32 : W::UINT32)
                              : (s ? W::INT64 : W::UINT64);
    }
  }
}

/// A field of a C++ struct, for comparison with the schema's field of that name.
struct field_form {
  std::string_view name;
  capnp::schema::Type::Which kind;  ///< of a list: of its elements
  bool list = false;
  uint32_t width = 1;                               ///< of a number: bytes
  capnp::Schema part = {};                          ///< of a struct: its schema
  size_t enumerants = 0;                            ///< of an enum: their number
  std::string_view (*enumerant)(size_t) = nullptr;  ///< of an enum: their names
};

template <class F>
field_form form_of(std::string_view name);

/// Size of a struct in Cap'n Proto.
struct bound_struct {
  uint16_t data_words = 0;
  uint16_t pointers = 0;
};

/// Finds each field in the schema and writes its offset to `slots` (`codec_layout::slot`). Throws
/// `codec_error`.
bound_struct bind_fields(capnp::StructSchema schema, std::string_view type_name,
                         std::span<const field_form> fields, std::span<uint32_t> slots);

}  // namespace detail

template <message_type T>
struct codec_layout : detail::bound_struct {
  static constexpr size_t count = T::field_names.size();
  /// Of each field: byte offset in the data section, bit number (bool), or pointer index.
  std::array<uint32_t, count> slot{};

  /// Binds on first use; throws `codec_error` if struct and schema differ. Thread-safe.
  static const codec_layout& get() {
    static const codec_layout layout;
    return layout;
  }

 private:
  codec_layout() : codec_layout(field_types<T>{}) {}

  template <class... Fs>
  explicit codec_layout(type_list<Fs...>) {
    size_t i = 0;
    const std::array<detail::field_form, count> forms{detail::form_of<Fs>(T::field_names[i++])...};
    bound_struct::operator=(
        detail::bind_fields(capnp::Schema::from<typename schema_of<T>::type>(), T::type_name, forms, slot));
  }
};

/// Also binds the structs inside the field.
template <class F>
detail::field_form detail::form_of(std::string_view name) {
  if constexpr (is_list<F>) {
    auto form = form_of<typename F::value_type>(name);
    form.list = true;
    return form;
  } else {
    field_form form{.name = name, .kind = kind_of<F>()};
    if constexpr (is_scalar<F> && !std::is_same_v<F, bool>) form.width = sizeof(raw_t<F>);
    if constexpr (message_type<F>) {
      form.part = capnp::Schema::from<typename schema_of<F>::type>();
      codec_layout<F>::get();
    }
    if constexpr (is_schema_enum<F>) {
      form.enumerants = enum_count<F>;
      form.enumerant = [](size_t k) -> std::string_view { return to_string(static_cast<F>(k)); };
    }
    return form;
  }
}

}  // namespace troupe
