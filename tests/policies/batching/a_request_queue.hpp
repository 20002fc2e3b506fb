// A request queue as in the paper's examples: ℓ(b) = b + 5 ms, SLO 12 ms, one slot.
#pragma once
#include "policies/batching/request_queue.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/policies/batching/paper_batching.hpp"

namespace troupe::test {

inline constexpr address first_gateway{node_id{1}, {11}, role::gateway, 0};

inline request a_request(uint64_t id, double arrival, uint32_t rows = 1,
                         const address& gateway = first_gateway) {
  request r;
  r.id = request_id{id};
  r.rows = rows;
  r.gateway = gateway;
  r.arrival = ms(arrival);
  r.deadline = ms(arrival + 12);
  return r;
}

struct a_request_queue : request_queue {
  explicit a_request_queue(uint32_t max_queued_rows = 100, uint32_t decision_log = 16)
      : request_queue({{}, max_queued_rows, false, decision_log, 100ms},
                      std::make_unique<deferred>(paper(), shedding::timeout)) {
    set_slots({1, 1, {1ms, 5ms}, false});
  }

  /// Its handle.
  uint32_t arrive(const request& r, double at) {
    const auto handle = keep(r, ms(at));
    queue_up(handle, ms(at));
    return handle;
  }
  /// All that is queued and fits.
  batch leave(uint64_t batch_id_value, double at) {
    policy().update(ms(at), long_ago);
    return take_batch(batch_id{batch_id_value}, ms(at));
  }
  drop_list flushed(double at) {
    drop_list out;
    flush_drops(ms(at), [&](const address&, const drops& d) {
      for (const auto& r : d.requests) out.emplace_back(r.id.value, r.reason);
    });
    return out;
  }
  counted_load counted() { return ends().load.take(ms(1e9)).value_or(counted_load{}); }
};

inline ids ids_of(const std::vector<request>& requests) {
  ids out;
  for (const auto& r : requests) out.push_back(r.id.value);
  return out;
}

}  // namespace troupe::test
