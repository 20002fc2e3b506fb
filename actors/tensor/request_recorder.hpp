// The recording of a gateway's requests for `troupe trace` (messages/tensor/traces.hpp).
#pragma once
#include <cstdint>
#include <optional>

#include "actors/tensor/in_flight_request.hpp"
#include "messages/tensor/traces.hpp"
#include "policies/common/ring.hpp"

namespace troupe {

/// Records settled requests, a sample of their ids, into a ring while it is on.
class request_recorder {
 public:
  bool on() const { return recorded_.has_value(); }
  /// Requires: it is on. `how`: the settled outcome; `now`: when the client gets it.
  void add(const in_flight_request& f, const outcome& how, time_point now);

  /// What was recorded is forgotten. Throws `command_refused`: the sample is 0.
  void start(const start_trace& s);
  /// Throws `command_refused`: it is off.
  traced_requests take(const take_trace& t);
  void stop() { recorded_.reset(); }

 private:
  std::optional<ring<request_trace>> recorded_;
  uint32_t sample_ = 1;
};

}  // namespace troupe
