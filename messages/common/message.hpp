// Definition of messages: plain structs that list their fields once. TROUPE_MESSAGE provides CAF inspection
// (messages/wire/inspect.hpp), Cap'n Proto encoding (codec.hpp), JSON (json.hpp), printing and the round-trip
// tests.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace troupe {

template <class... Ts>
struct type_list {
  static constexpr size_t size = sizeof...(Ts);
};

namespace detail {

template <class... Lists>
struct variant_of;
template <class... Ts>
struct variant_of<type_list<Ts...>> {
  using type = std::variant<Ts...>;
};
template <class... Ts, class... Us, class... Lists>
struct variant_of<type_list<Ts...>, type_list<Us...>, Lists...>
    : variant_of<type_list<Ts..., Us...>, Lists...> {};

consteval size_t count_names(std::string_view list) {
  if (list.empty()) return 0;
  size_t n = 1;
  for (char c : list) n += c == ',';
  return n;
}

template <size_t N>
consteval std::array<std::string_view, N> split_names(std::string_view list) {
  std::array<std::string_view, N> out{};
  for (size_t i = 0; i < N; ++i) {
    const auto comma = list.find(',');
    auto name = list.substr(0, comma);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    out[i] = name;
    if (comma != std::string_view::npos) list.remove_prefix(comma + 1);
  }
  return out;
}

}  // namespace detail

/// The variant of the types of all lists, in order.
template <class... Lists>
using variant_of = typename detail::variant_of<Lists...>::type;

/// Inside a struct: TROUPE_MESSAGE(its name, its fields...). `x.fields(f)` is f(all fields of x).
#define TROUPE_MESSAGE(type, ...)                                                               \
  static constexpr const char* type_name = #type;                                               \
  static constexpr auto field_names =                                                           \
      ::troupe::detail::split_names<::troupe::detail::count_names(#__VA_ARGS__)>(#__VA_ARGS__); \
  template <class FieldVisitor>                                                                 \
  decltype(auto) fields(FieldVisitor&& field_visitor) {                                         \
    return field_visitor(__VA_ARGS__);                                                          \
  }                                                                                             \
  template <class FieldVisitor>                                                                 \
  decltype(auto) fields(FieldVisitor&& field_visitor) const {                                   \
    return field_visitor(__VA_ARGS__);                                                          \
  }

namespace detail {
struct to_type_list {
  template <class... Fs>
  type_list<Fs...> operator()(Fs&...) const {
    return {};
  }
};
}  // namespace detail

template <class T>
concept message_type = requires(T& x) {
  { T::type_name } -> std::convertible_to<const char*>;
  T::field_names;
  x.fields(detail::to_type_list{});
};

/// The types of a message's fields, as a `type_list`.
template <message_type T>
using field_types = decltype(std::declval<T&>().fields(detail::to_type_list{}));

/// Distinct id types over one integer: a `model_id` is not a `slot_id`. Ordered, hashable, encoded as the
/// integer.
template <class Tag, class Rep>
struct strong_id {
  using rep = Rep;
  Rep value{};
  friend constexpr auto operator<=>(const strong_id&, const strong_id&) = default;
};

template <class T>
inline constexpr bool is_strong_id = false;
template <class Tag, class Rep>
inline constexpr bool is_strong_id<strong_id<Tag, Rep>> = true;

}  // namespace troupe

template <class Tag, class Rep>
struct std::hash<troupe::strong_id<Tag, Rep>> {
  size_t operator()(const troupe::strong_id<Tag, Rep>& x) const noexcept { return std::hash<Rep>{}(x.value); }
};
