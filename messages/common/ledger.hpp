// Commands about the state and the ledger of a gateway, the same for tensors and for language models.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/commands.hpp"

namespace troupe {

struct gateway_state {
  uint64_t in_flight = 0;
  uint64_t accepted = 0;
  uint64_t finished = 0;
  uint64_t dropped = 0;
  uint64_t failed = 0;
  uint64_t late_answers = 0;  ///< for requests that already had their outcome
  bool balanced = false;      ///< accepted = finished + dropped + failed + in flight
  bool draining = false;
  bool scheduler_up = false;
  TROUPE_MESSAGE(gateway_state, in_flight, accepted, finished, dropped, failed, late_answers, balanced,
                 draining, scheduler_up)
};

struct get_ledger {
  static constexpr const char* about = "outcomes of all requests, by model";
  TROUPE_MESSAGE(get_ledger)
};
struct reason_count {
  std::string reason;
  uint64_t count = 0;
  TROUPE_MESSAGE(reason_count, reason, count)
};
struct ledger_line {
  std::string model;
  uint64_t accepted = 0;
  uint64_t finished = 0;
  uint64_t in_time = 0;               ///< of `finished`: by their deadlines
  std::vector<reason_count> dropped;  ///< without zeros, as below
  std::vector<reason_count> failed;
  TROUPE_MESSAGE(ledger_line, model, accepted, finished, in_time, dropped, failed)
};
struct ledger_report {
  std::vector<ledger_line> models;
  TROUPE_MESSAGE(ledger_report, models)
};

}  // namespace troupe
