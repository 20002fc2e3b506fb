// Measures the load of a language model for its scaling loop: what arrives, as gateways tell the router, and
// what waits and runs.
#pragma once
#include "messages/llm/measured_load.hpp"
#include "policies/common/rate_meter.hpp"
#include "policies/llm/request_router.hpp"

namespace troupe {

class load_meter {
 public:
  /// Arrivals are counted over the last `window`.
  explicit load_meter(duration window);

  /// Call it before the router learns the message. `known`: its requests. Only new requests count: not those
  /// that a new router learns of, and none that has begun.
  void on_route(const route& r, const std::map<request_id, request_router::request>& known, time_point now);

  measured_load measure(const request_router& router, time_point now);

 private:
  const duration window_;
  rate_meter arrivals_;  ///< tokens
};

}  // namespace troupe
