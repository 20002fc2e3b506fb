// outcome_log remembers the outcomes that a gateway decided itself, for `troupe why`: requests that it
// refused or gave up.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "actors/tensor/in_flight_request.hpp"
#include "messages/tensor/decisions.hpp"
#include "policies/common/recent_ring.hpp"

namespace troupe {

/// Keeps the latest `capacity` decisions.
class outcome_log {
 public:
  explicit outcome_log(uint32_t capacity) : decisions_(capacity) {}

  /// `how` is the decision about `f`, made `now`; refused `at_admission`, or given up later.
  void add(const in_flight_request& f, const outcome& how, time_point now, bool at_admission,
           size_t in_flight);

  /// The latest decision about the request; not `known` if there is none. `models` and `tenants`: names, by
  /// model id and by tenant less one. `max_in_flight`: the bound of the gateway, copied into the answer.
  gateway_decision explain(request_id id, const std::vector<std::string>& models,
                           const std::vector<std::string>& tenants, uint64_t max_in_flight) const;

 private:
  struct decision {
    request_id id;
    model_id model;
    uint32_t rows = 0, tenant = 0;
    time_point arrival, deadline, at;
    outcome_kind kind{};
    drop_reason reason{};
    failure error{};
    bool at_admission = false;
    uint64_t in_flight = 0;  ///< other requests at that time
    duration retry_after{};
    std::string detail;
  };

  recent_ring<decision> decisions_;
};

}  // namespace troupe
