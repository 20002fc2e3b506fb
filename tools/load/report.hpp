// The results of a load run, as counted by the client.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/common/latency_histogram.hpp"

namespace troupe {

/// Every scheduled request counts as sent, and then once as finished, dropped or failed.
struct load_counts {
  uint64_t sent = 0;
  uint64_t finished = 0;                     ///< answered 200
  uint64_t good = 0;                         ///< of these, within the SLO
  uint64_t dropped = 0;                      ///< refused by rule: 429, 503, 504
  uint64_t failed = 0;                       ///< all others, and requests that could not be sent
  uint64_t batched = 0;                      ///< responses that reported their batch's rows,
  uint64_t batch_rows = 0;                   ///< and the sum of those
  latency_histogram latency;                 ///< of the finished, from when they were due
  std::map<std::string, uint64_t> reasons;   ///< of drops: "late"
  std::map<std::string, uint64_t> failures;  ///< by message

  void merge(const load_counts& other);
};

struct load_report {
  struct model {
    std::string name;
    double slo_ms = 0;  ///< SLO for `good`; 0: every answer is good
    load_counts counts;
  };
  std::vector<model> models;
  duration length{};     ///< of the schedule
  duration worst_lag{};  ///< largest delay of the generator itself
  load_counts total() const;
};

std::string load_table(const load_report& report);
std::string load_json(const load_report& report);

}  // namespace troupe
