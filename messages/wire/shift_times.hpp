// Conversion of the time points in a message from the sender's clock to the receiver's.
#pragma once
#include <type_traits>
#include <vector>

#include "messages/common/message.hpp"
#include "messages/common/time.hpp"

namespace troupe {

namespace detail {

template <class F>
consteval bool holds_time();

template <class... Fs>
consteval bool any_holds_time(type_list<Fs...>) {
  return (holds_time<Fs>() || ...);
}

template <class F>
inline constexpr bool is_any_vector = false;
template <class E>
inline constexpr bool is_any_vector<std::vector<E>> = true;

template <class F>
consteval bool holds_time() {
  if constexpr (std::is_same_v<F, time_point>)
    return true;
  else if constexpr (is_any_vector<F>)
    return holds_time<typename F::value_type>();
  else if constexpr (message_type<F>)
    return any_holds_time(field_types<F>{});
  else
    return false;
}

template <class F>
void shift(F& v, duration by) {
  if constexpr (!holds_time<F>()) {
    return;
  } else if constexpr (std::is_same_v<F, time_point>) {
    if (v == never || v == long_ago) return;
    int64_t moved = 0;
    // A hostile peer may send any number.
    if (__builtin_add_overflow(v.time_since_epoch().count(), by.count(), &moved)) return;
    v = time_point{duration{moved}};
  } else if constexpr (is_any_vector<F>) {
    for (auto& e : v) shift(e, by);
  } else {
    v.fields([&](auto&... f) { (shift(f, by), ...); });
  }
}

}  // namespace detail

template <message_type T>
inline constexpr bool has_times = detail::holds_time<T>();

/// Adds `by` to every time point but `never` and `long_ago`.
template <message_type T>
void shift_times(T& message, duration by) {
  detail::shift(message, by);
}

}  // namespace troupe
