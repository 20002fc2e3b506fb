// The recording of a gateway's requests for `troupe trace` (messages/tensor/traces.hpp).
#pragma once
#include <cstdint>
#include <optional>

#include "actors/tensor/in_flight_request.hpp"
#include "messages/tensor/traces.hpp"
#include "policies/common/ring.hpp"

namespace troupe {

/// While it is on, records a sample of the settled requests in a ring.
class request_recorder {
 public:
  bool on() const { return recorded_.has_value(); }
  /// Requires: it is on. `how`: the settled outcome; `now`: the time of the answer.
  void add(const in_flight_request& f, const outcome& how, time_point now);

  /// Discards earlier records. Throws `command_refused` if the sample is 0.
  void start(const start_trace& s);
  /// Throws `command_refused` if it is off.
  traced_requests take(const take_trace& t);
  void stop() { recorded_.reset(); }

 private:
  std::optional<ring<request_trace>> recorded_;
  uint32_t sample_ = 1;
};

}  // namespace troupe
