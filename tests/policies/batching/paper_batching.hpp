// Batching policies over a deadline queue, as in the paper's examples: ℓ(b) = b + 5 ms, SLO 12 ms.
#pragma once
#include "policies/batching/deadline_batching.hpp"

#include <doctest/doctest.h>

#include "policies/batching/deferred.hpp"
#include "policies/batching/eager.hpp"
#include "tests/policies/common/moments.hpp"

namespace troupe::test {

inline queued_request due(double deadline_ms, uint64_t id, uint32_t rows = 1) {
  return {ms(deadline_ms), request_id{id}, rows, static_cast<uint32_t>(id)};
}

/// ℓ(b) = b + 5 ms, SLO 12 ms.
inline batching_parameters paper() {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 12ms;
  p.slots = 3;
  return p;
}

inline std::vector<uint64_t> batch_of(batching_policy& policy) {
  std::vector<queued_request> out;
  policy.take_batch(out);
  std::vector<uint64_t> ids;
  for (const auto& t : out) ids.push_back(t.id.value);
  return ids;
}

inline std::vector<uint64_t> removed_from(batching_policy& policy, uint64_t id) {
  std::vector<queued_request> out;
  policy.remove_if([&](const queued_request& t) { return t.id.value == id; }, out);
  std::vector<uint64_t> ids;
  for (const auto& t : out) ids.push_back(t.id.value);
  return ids;
}

using id_and_reason = std::pair<uint64_t, drop_reason>;
inline std::vector<id_and_reason> dropped_by(batching_policy& policy) {
  std::vector<dropped_queued_request> out;
  policy.take_dropped(out);
  std::vector<id_and_reason> ids_and_reasons;
  for (const auto& d : out) ids_and_reasons.emplace_back(d.request.id.value, d.reason);
  return ids_and_reasons;
}

using ids = std::vector<uint64_t>;
using drop_list = std::vector<id_and_reason>;

}  // namespace troupe::test
