// Where the time of one answered request went, stage by stage, as its gateway saw it. A client that sends the
// header `X-Request-Timing` gets it back as a `Server-Timing` header (W3C), in milliseconds.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "actors/tensor/gateway.hpp"

namespace troupe {

inline constexpr std::string_view timing_request_header = "X-Request-Timing";

/// In the order in which a request passes them. The stages add up to the time from its arrival to its answer;
/// where the clocks of two nodes meet, a stage can be off, even negative, by the error of their conversion.
enum class request_stage : uint8_t {
  parse,     ///< the body is read: parse it, write the tensors into registered memory
  gateway,   ///< to the gateway
  queue,     ///< to the model queue, and there until its batch is ordered
  order,     ///< to the worker
  inputs,    ///< all inputs of the batch are pulled
  device,    ///< the device is free
  execute,   ///< the batch runs
  complete,  ///< back to the gateway
  outputs,   ///< the output is pulled
  format     ///< the answer reaches its connection's thread and its body is written
};
inline constexpr size_t request_stage_count = 10;
std::string_view to_string(request_stage s);

struct request_timing {
  std::array<duration, request_stage_count> stages{};
  duration late{};  ///< from the planned to the actual start of its batch
  duration& operator[](request_stage s) { return stages[static_cast<size_t>(s)]; }
  duration operator[](request_stage s) const { return stages[static_cast<size_t>(s)]; }
};

/// Of a request that was finished, with an output, and whose answer's body is written by `now`.
request_timing request_timing_of(const outcome& how, time_point parsed_at, time_point now);

/// "parse;dur=0.0312, gateway;dur=..., late;dur=-0.2"
std::string to_header(const request_timing& t);
/// Nothing if it is not such a header.
std::optional<request_timing> parse_request_timing(std::string_view header);

}  // namespace troupe
