// Open-loop arrival processes: the arrivals do not depend on the answers.
#pragma once
#include <string_view>

#include "messages/common/time.hpp"
#include "messages/workload/workload.hpp"
#include "policies/common/random.hpp"

namespace troupe {

inline constexpr size_t arrival_kind_count = 3;
std::string_view to_string(arrival_kind k);
bool parse_arrival_kind(std::string_view name, arrival_kind& out);

struct arrival_spec {
  arrival_kind kind = arrival_kind::poisson;
  double rate = 1;  ///< a second; > 0
  double cv = 1;    ///< standard deviation over mean of the gaps, > 0; only `gamma` reads it
};

/// Ascending arrival times, determined by the spec and the random stream.
class arrival_process {
 public:
  arrival_process(const arrival_spec& spec, time_point start, random_stream random);
  time_point next();

 private:
  double gap();  // in nanoseconds

  arrival_spec spec_;
  random_stream random_;
  time_point last_;
  double rounding_ = 0;  // the sum of the gaps less `last_`, in nanoseconds
};

}  // namespace troupe
