// Encoding of any message as Cap'n Proto bytes, generic over its fields. Hostile bytes give a `codec_error`,
// never a crash.
#pragma once
#include <capnp/any.h>
#include <capnp/message.h>

#include <cstring>
#include <span>

#include "messages/wire/codec_layout.hpp"

namespace troupe {

namespace detail {

template <message_type T>
void put(const T& x, capnp::AnyStruct::Builder to);
template <message_type T>
void take(capnp::AnyStruct::Reader from, T& x);

template <class E>
void put_list(const std::vector<E>& v, capnp::AnyPointer::Builder p) {
  const auto n = static_cast<unsigned>(v.size());
  if constexpr (message_type<E>) {
    const auto& layout = codec_layout<E>::get();
    auto list = p.initAsListOfAnyStruct(layout.data_words, layout.pointers, n);
    for (unsigned k = 0; k < n; ++k) put(v[k], list[k]);
  } else if constexpr (std::is_same_v<E, std::string>) {
    auto list = p.initAs<capnp::List<capnp::Text>>(n);
    for (unsigned k = 0; k < n; ++k) list.set(k, capnp::Text::Reader(v[k].c_str(), v[k].size()));
  } else {
    auto list = p.initAs<capnp::List<raw_t<E>>>(n);
    for (unsigned k = 0; k < n; ++k) list.set(k, to_raw(v[k]));
  }
}

template <class E>
void take_list(capnp::AnyPointer::Reader p, std::vector<E>& v) {
  v.clear();
  if constexpr (message_type<E>) {
    auto list = p.getAs<capnp::AnyList>().as<capnp::List<capnp::AnyStruct>>();
    v.resize(list.size());
    for (unsigned k = 0; k < list.size(); ++k) take(list[k], v[k]);
  } else if constexpr (std::is_same_v<E, std::string>) {
    for (auto e : p.getAs<capnp::List<capnp::Text>>()) v.emplace_back(e.begin(), e.size());
  } else {
    auto list = p.getAs<capnp::List<raw_t<E>>>();
    v.reserve(list.size());
    for (auto e : list) v.push_back(from_raw<E>(e));
  }
}

template <message_type T>
void put(const T& x, capnp::AnyStruct::Builder to) {
  const auto& layout = codec_layout<T>::get();
  kj::byte* data = to.getDataSection().begin();
  auto pointers = to.getPointerSection();
  size_t i = 0;
  auto one = [&]<class F>(const F& v) {
    const uint32_t at = layout.slot[i++];
    if constexpr (std::is_same_v<F, bool>) {
      if (v) data[at / 8] = static_cast<kj::byte>(data[at / 8] | (1u << at % 8));
    } else if constexpr (is_scalar<F>) {
      const auto raw = to_raw(v);
      std::memcpy(data + at, &raw, sizeof raw);
    } else if constexpr (std::is_same_v<F, std::string>) {
      pointers[at].template setAs<capnp::Text>(capnp::Text::Reader(v.c_str(), v.size()));
    } else if constexpr (std::is_same_v<F, blob>) {
      pointers[at].template setAs<capnp::Data>(capnp::Data::Reader(v.data(), v.size()));
    } else if constexpr (message_type<F>) {
      const auto& inner = codec_layout<F>::get();
      put(v, pointers[at].initAsAnyStruct(inner.data_words, inner.pointers));
    } else {
      put_list(v, pointers[at]);
    }
  };
  x.fields([&](const auto&... v) { (one(v), ...); });
}

template <message_type T>
void take(capnp::AnyStruct::Reader from, T& x) {
  const auto& layout = codec_layout<T>::get();
  const auto data = from.getDataSection();
  const auto pointers = from.getPointerSection();
  size_t i = 0;
  auto one = [&]<class F>(F& v) {
    const uint32_t at = layout.slot[i++];
    if constexpr (std::is_same_v<F, bool>) {
      v = at / 8 < data.size() && ((data[at / 8] >> at % 8) & 1) != 0;
    } else if constexpr (is_scalar<F>) {
      raw_t<F> raw{};  // zero if the section is too short, as an older sender's
      if (at + sizeof raw <= data.size()) std::memcpy(&raw, data.begin() + at, sizeof raw);
      if constexpr (std::is_enum_v<F>)
        if (raw >= enum_count<F>) throw codec_error(std::string(T::type_name) + ": unknown enumerant");
      v = from_raw<F>(raw);
    } else {
      const auto p = at < pointers.size() ? pointers[at] : capnp::AnyPointer::Reader();
      if constexpr (std::is_same_v<F, std::string>) {
        const auto t = p.template getAs<capnp::Text>();
        v.assign(t.begin(), t.size());
      } else if constexpr (std::is_same_v<F, blob>) {
        const auto d = p.template getAs<capnp::Data>();
        v.assign(d.begin(), d.end());
      } else if constexpr (message_type<F>) {
        take(p.template getAs<capnp::AnyStruct>(), v);
      } else {
        take_list(p, v);
      }
    }
  };
  x.fields([&](auto&... v) { (one(v), ...); });
}

/// A message being encoded, in scratch memory of its thread: one at a time.
class segment_builder {
 public:
  segment_builder();
  ~segment_builder();
  segment_builder(const segment_builder&) = delete;
  segment_builder& operator=(const segment_builder&) = delete;
  capnp::AnyStruct::Builder root(const bound_struct& layout);
  void append_to(std::vector<std::byte>& out, const char* type_name);

 private:
  capnp::MallocMessageBuilder message_;
};

using message_filler = void (*)(capnp::AnyStruct::Reader from, void* message);
void read_segment(std::span<const std::byte> in, const char* type_name, message_filler fill, void* message);

}  // namespace detail

/// Appends the message to `out` as one Cap'n Proto segment: a whole number of 8-byte words. It is 8-byte
/// aligned if the end of `out` was.
template <message_type T>
void encode(const T& x, std::vector<std::byte>& out) {
  const auto& layout = codec_layout<T>::get();
  detail::segment_builder segment;
  detail::put(x, segment.root(layout));
  segment.append_to(out, T::type_name);
}

/// Decodes one segment; `in` must be 8-byte aligned. Throws `codec_error`.
template <message_type T>
T decode(std::span<const std::byte> in) {
  T x{};
  detail::read_segment(
      in, T::type_name,
      [](capnp::AnyStruct::Reader from, void* message) { detail::take(from, *static_cast<T*>(message)); },
      &x);
  return x;
}

}  // namespace troupe
