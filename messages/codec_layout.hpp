// Where each field of a struct lies in its Cap'n Proto form: bound once by name against the schema, with
// every mismatch a clear error; encoding and decoding (codec.hpp) then store by offset.
#pragma once
#include <capnp/schema.h>

#include <array>
#include <bit>
#include <cctype>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "messages/schema.hpp"

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

/// What is stored for a scalar field: ids as their integers, times as nanoseconds.
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

/// The schema type that a C++ type must meet: exact width and sign.
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
  else if constexpr (std::is_enum_v<F>)
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

/// "exec_at", "BatchOrder", "execAt", "FP32" → "execat", "batchorder", "execat", "fp32"
inline std::string bare(std::string_view name) {
  std::string out;
  for (char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace detail

template <message_type T>
struct codec_layout {
  static constexpr size_t count = T::field_names.size();
  std::array<uint32_t, count>
      slot{};  ///< byte offset in the data section, bit number (bool), or pointer index
  uint16_t data_words = 0;
  uint16_t pointers = 0;

  /// Binds on first use; throws `codec_error` if struct and schema differ. Thread-safe.
  static const codec_layout& get() {
    static const codec_layout layout;
    return layout;
  }

 private:
  codec_layout() {
    const auto schema = capnp::Schema::from<typename schema_of<T>::type>();
    const std::string type = schema.getShortDisplayName().cStr();
    if (detail::bare(type) != detail::bare(T::type_name))
      throw codec_error(type + ": C++ type is " + T::type_name);
    if (schema.getFields().size() != count)
      throw codec_error(type + ": schema has " + std::to_string(schema.getFields().size()) +
                        " fields, C++ has " + std::to_string(count));
    data_words = schema.getProto().getStruct().getDataWordCount();
    pointers = schema.getProto().getStruct().getPointerCount();
    T probe{};
    size_t i = 0;
    std::apply([&](auto&... f) { (bind<std::remove_cvref_t<decltype(f)>>(schema, type, i++), ...); },
               probe.fields());
  }

  template <class F>
  void bind(capnp::StructSchema schema, const std::string& type, size_t i) {
    const std::string at = type + "." + std::string(T::field_names[i]);
    for (auto f : schema.getFields()) {
      if (detail::bare(f.getProto().getName().cStr()) != detail::bare(T::field_names[i])) continue;
      const auto proto = f.getProto();
      if (!proto.isSlot() || proto.getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT)
        throw codec_error(at + ": unions and groups are not plain fields");
      if (proto.getSlot().getHadExplicitDefault()) throw codec_error(at + ": schema gives a default value");
      check<F>(f.getType(), at);
      slot[i] = proto.getSlot().getOffset();
      if constexpr (detail::is_scalar<F> && !std::is_same_v<F, bool>)
        slot[i] *= static_cast<uint32_t>(sizeof(detail::raw_t<F>));
      return;
    }
    throw codec_error(at + ": not in the schema");
  }

  template <class F>
  static void check(capnp::Type t, const std::string& at) {
    if (t.which() != detail::kind_of<F>()) throw codec_error(at + ": C++ and schema types differ");
    if constexpr (detail::is_list<F>) check<typename F::value_type>(t.asList().getElementType(), at + "[]");
    if constexpr (message_type<F>) {
      if (capnp::Schema(t.asStruct()) != capnp::Schema::from<typename schema_of<F>::type>())
        throw codec_error(at + ": another struct in the schema");
      codec_layout<F>::get();
    }
    if constexpr (std::is_enum_v<F>) {
      const auto names = t.asEnum().getEnumerants();
      if (names.size() != enum_count<F>)
        throw codec_error(at + ": C++ and schema enumerants differ in number");
      for (unsigned k = 0; k < names.size(); ++k)
        if (detail::bare(names[k].getProto().getName().cStr()) != detail::bare(to_string(static_cast<F>(k))))
          throw codec_error(at + ": enumerant " + std::to_string(k) + " differs");
    }
  }
};

}  // namespace troupe
