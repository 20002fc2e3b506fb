#include "policies/common/ledger.hpp"

#include <numeric>

namespace troupe {

uint64_t outcome_counts::total_dropped() const {
  return std::accumulate(dropped.begin(), dropped.end(), uint64_t{0});
}
uint64_t outcome_counts::total_failed() const {
  return std::accumulate(failed.begin(), failed.end(), uint64_t{0});
}

bool outcome_counts::balanced(uint64_t in_flight) const {
  return accepted == finished + total_dropped() + total_failed() + in_flight;
}

outcome_counts& outcome_counts::operator+=(const outcome_counts& other) {
  accepted += other.accepted;
  finished += other.finished;
  for (size_t i = 0; i < dropped.size(); ++i) dropped[i] += other.dropped[i];
  for (size_t i = 0; i < failed.size(); ++i) failed[i] += other.failed[i];
  return *this;
}

outcome_counts ledger::total() const {
  outcome_counts sum;
  for (const auto& m : models_) sum += m;
  return sum;
}

}  // namespace troupe
