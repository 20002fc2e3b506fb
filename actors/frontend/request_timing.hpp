// The time of one answered request by stage, as seen by its gateway. A client that sends the header
// `X-Request-Timing` gets it as a `Server-Timing` header (W3C), in milliseconds.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "actors/tensor/gateway.hpp"

namespace troupe {

inline constexpr std::string_view timing_request_header = "X-Request-Timing";

/// In the order in which a request passes them. Their sum is the time from its arrival to its answer. A stage
/// between two nodes can be off, even negative, by the error of the clock conversion.
enum class request_stage : uint8_t {
  parse,     ///< parsing of the body, writing of the tensors into registered memory
  gateway,   ///< on the way to the gateway
  queue,     ///< on the way to the model queue, and there until its batch is ordered
  order,     ///< on the way to the worker
  inputs,    ///< until all inputs of the batch are pulled
  device,    ///< until the device is free
  execute,   ///< execution of the batch
  complete,  ///< on the way back to the gateway
  outputs,   ///< pull of the output
  format     ///< on the way to the connection's thread, and there until the body is written
};
inline constexpr size_t request_stage_count = 10;
std::string_view to_string(request_stage s);

struct request_timing {
  std::array<duration, request_stage_count> stages{};
  duration late{};  ///< from the planned to the actual start of its batch
  duration& operator[](request_stage s) { return stages[static_cast<size_t>(s)]; }
  duration operator[](request_stage s) const { return stages[static_cast<size_t>(s)]; }
};

/// Of a finished request with an output. `now`: the time at which its body is written.
request_timing request_timing_of(const outcome& how, time_point parsed_at, time_point now);

/// "parse;dur=0.0312, gateway;dur=..., late;dur=-0.2"
std::string to_header(const request_timing& t);
/// Nothing if it is not such a header.
std::optional<request_timing> parse_request_timing(std::string_view header);

}  // namespace troupe
