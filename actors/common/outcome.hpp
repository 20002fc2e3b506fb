// The outcome of a request: how it ended, for the code that answers its client.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "messages/tensor/request.hpp"

namespace troupe {

enum class outcome_kind { finished, dropped, failed };

struct outcome {
  outcome_kind kind = outcome_kind::finished;
  drop_reason reason = drop_reason::none;  ///< of a drop
  failure error = failure::none;           ///< of a failure
  std::span<const std::byte> output;       ///< within the pulled buffer
  uint32_t batch_rows = 0;                 ///< of the batch that it ran in
  duration latency{};                      ///< from its arrival
  std::string_view detail{};  ///< text of an error, or limit of a quota; valid during the call only
  time_point arrival = never;
  batch_times times{};              ///< of the batch that it ran in, if any
  duration retry_after{};           ///< of a drop at admission: earliest time for a retry; zero: unknown
  time_point accepted_at = never;   ///< when the gateway received it
  time_point completed_at = never;  ///< when the gateway received the end of its batch

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
