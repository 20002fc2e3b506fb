// Latency of a batch, ℓ(b) = α·b + β (Symphony §2), and of its delivery over the network.
#pragma once
#include <cstdint>

#include "messages/common/message.hpp"
#include "messages/common/time.hpp"

namespace troupe {

struct latency_model {
  duration alpha{};  ///< per row
  duration beta{};   ///< per batch
  constexpr duration operator()(uint32_t rows) const { return alpha * rows + beta; }
  TROUPE_MESSAGE(latency_model, alpha, beta)
  bool operator==(const latency_model&) const = default;
};

/// Time from a scheduling decision to the inputs being on the device: `control + data × rows` (Symphony, Fig.
/// 18).
struct network_delay {
  duration control{};
  duration data{};
  constexpr duration operator()(uint32_t rows) const { return control + data * rows; }
  bool operator==(const network_delay&) const = default;
};

}  // namespace troupe
