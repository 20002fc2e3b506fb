// How a request ended, for those who answer its client.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "messages/tensor/request.hpp"

namespace troupe {

enum class outcome_kind { finished, dropped, failed };

/// How a request ended.
struct outcome {
  outcome_kind kind = outcome_kind::finished;
  drop_reason reason = drop_reason::none;  ///< of a drop
  failure error = failure::none;           ///< of a failure
  std::span<const std::byte> output;       ///< lies in what was pulled
  uint32_t batch_rows = 0;                 ///< of the batch that it ran in
  duration latency{};                      ///< from its arrival
  std::string_view detail{};  ///< of an error its own; of a quota its limit; valid during the call only
  time_point arrival = never;
  batch_times times{};              ///< of the batch that it ran in, if it came to that
  duration retry_after{};           ///< of a drop at admission: not earlier than that, if it is known
  time_point accepted_at = never;   ///< the gateway heard of it
  time_point completed_at = never;  ///< the gateway heard that its batch was done

  static outcome dropped(drop_reason why) {
    outcome how;
    how.kind = outcome_kind::dropped;
    how.reason = why;
    return how;
  }
  static outcome failed(failure why, std::string_view detail = {}) {
    outcome how;
    how.kind = outcome_kind::failed;
    how.error = why;
    how.detail = detail;
    return how;
  }
};

}  // namespace troupe
