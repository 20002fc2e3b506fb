// A 64-bit hash over all actions of a simulated run: equal runs have equal hashes.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "actors/runtime/events.hpp"
#include "messages/common/message.hpp"

namespace troupe::sim {

class trace {
 public:
  uint64_t hash() const { return hash_; }

  /// `e` is delivered to an actor of `node` at true time `at`.
  void delivered(duration at, node_id node, const envelope& e) {
    trace one;  // a separate hash: its steps do not depend on those of the message before
    one.add(at);
    one.add(node);
    one.add(e.from);
    one.add(e.to);
    one.add(static_cast<uint64_t>(e.body.index()));
    std::visit([&one](const auto& m) { one.add(m); }, e.body);
    mix(one.hash_);
  }

  template <class T>
  void add(const T& x) {
    if constexpr (message_type<T>) {
      x.fields([this](const auto&... f) { (add(f), ...); });
    } else if constexpr (is_strong_id<T>) {
      mix(x.value);
    } else if constexpr (std::is_same_v<T, time_point>) {
      mix(static_cast<uint64_t>(x.time_since_epoch().count()));
    } else if constexpr (std::is_same_v<T, duration>) {
      mix(static_cast<uint64_t>(x.count()));
    } else if constexpr (std::is_floating_point_v<T>) {
      mix(std::bit_cast<uint64_t>(static_cast<double>(x)));
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      mix(static_cast<uint64_t>(x));
    } else {
      mix(x.size());
      for (const auto& e : x) add(e);
    }
  }

 private:
  /// The finaliser of MurmurHash3 (Appleby) over a running sum.
  void mix(uint64_t x) {
    hash_ = (hash_ ^ x) * 0xff51afd7ed558ccd;
    hash_ = (hash_ ^ (hash_ >> 33)) + 0x9e3779b97f4a7c15;
  }

  uint64_t hash_ = 0x243f6a8885a308d3;
};

}  // namespace troupe::sim
