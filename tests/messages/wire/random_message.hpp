// Fills any message with random values, so that one test covers every message type.
#pragma once
#include <random>

#include "messages/wire/wire.hpp"

namespace troupe {

template <class F>
void randomise(F& v, std::mt19937_64& rng, int depth = 0) {
  if constexpr (message_type<F>) {
    v.fields([&](auto&... f) { (randomise(f, rng, depth + 1), ...); });
  } else if constexpr (is_strong_id<F>) {
    randomise(v.value, rng);
  } else if constexpr (std::is_same_v<F, time_point>) {
    v = time_point{duration{static_cast<int64_t>(rng())}};
  } else if constexpr (std::is_same_v<F, duration>) {
    v = duration{static_cast<int64_t>(rng())};
  } else if constexpr (std::is_enum_v<F>) {
    v = static_cast<F>(rng() % enum_count<F>);
  } else if constexpr (std::is_same_v<F, bool>) {
    v = rng() % 2 != 0;
  } else if constexpr (std::is_floating_point_v<F>) {
    v = static_cast<F>(rng() % 1000) / 8;
  } else if constexpr (std::is_integral_v<F>) {
    v = static_cast<F>(rng());
  } else if constexpr (std::is_same_v<F, std::string>) {
    v.assign(rng() % 40, ' ');
    for (auto& c : v) c = static_cast<char>(' ' + rng() % 95);
  } else {
    v.resize(rng() % 7);
    for (auto& e : v) randomise(e, rng, depth + 1);
  }
}

template <class Fn, class... Ts>
void for_each_type(type_list<Ts...>, Fn&& fn) {
  (fn.template operator()<Ts>(), ...);
}

}  // namespace troupe
