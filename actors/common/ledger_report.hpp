// The answers of gateways to `get_state` and `get_ledger` (messages/common/ledger.hpp).
#pragma once
#include <string>
#include <utility>

#include "actors/common/in_flight_requests.hpp"
#include "actors/common/reason_counts.hpp"
#include "messages/common/ledger.hpp"

namespace troupe {

/// One line of a ledger. `in_time`: requests that finished by their deadlines.
inline ledger_line line_of(std::string model, const outcome_counts& counts, uint64_t in_time) {
  ledger_line line;
  line.model = std::move(model);
  line.accepted = counts.accepted;
  line.finished = counts.finished;
  line.in_time = in_time;
  line.dropped = reason_counts<drop_reason>(counts.dropped);
  line.failed = reason_counts<failure>(counts.failed);
  return line;
}

/// `late_answers` and `scheduler_up` are left to the gateway.
template <class Request>
gateway_state state_of(const in_flight_requests<Request>& requests) {
  const auto all = requests.counts().total();
  gateway_state s;
  s.in_flight = requests.size();
  s.accepted = all.accepted;
  s.finished = all.finished;
  s.dropped = all.total_dropped();
  s.failed = all.total_failed();
  s.balanced = requests.balanced();
  s.draining = requests.draining();
  return s;
}

}  // namespace troupe
