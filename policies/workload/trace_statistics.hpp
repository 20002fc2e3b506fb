// Statistics of a trace of generation requests, from one pass over it.
#pragma once
#include <cstdint>
#include <map>

#include "messages/workload/llm_trace.hpp"

namespace troupe {

class trace_statistics {
 public:
  /// Requests in the order of their times.
  void add(const traced_generation& request);

  struct lengths {
    double mean = 0;
    uint32_t median = 0;  ///< the upper one of two
  };
  struct report {
    uint64_t requests = 0;
    double seconds = 0;  ///< from the first to the last
    double rate = 0;     ///< a second
    double gap_cv = 0;   ///< standard deviation of the gaps over their mean
    double empty = 0;    ///< share of windows of two seconds without a request
    double peak = 0;     ///< requests in the busiest such window, over the mean of all
    lengths prompt = {}, output = {};
  };
  /// Zeros where there are too few requests.
  report get() const;

 private:
  static constexpr duration window = 2s;

  using counts = std::map<uint32_t, uint64_t>;  ///< by length
  lengths lengths_of(const counts& c) const;

  uint64_t requests_ = 0;
  duration first_{}, last_{};
  double square_gaps_ = 0;               ///< in seconds²
  uint64_t window_ = 0, in_window_ = 0;  ///< the last request's, from the first request on
  uint64_t occupied_ = 0, busiest_ = 0;  ///< windows; requests in one
  counts prompts_, outputs_;
};

}  // namespace troupe
