#include "policies/ledger.hpp"

#include <numeric>

namespace troupe {

uint64_t fates::total_dropped() const { return std::accumulate(dropped.begin(), dropped.end(), uint64_t{0}); }
uint64_t fates::total_failed() const { return std::accumulate(failed.begin(), failed.end(), uint64_t{0}); }

bool fates::balanced(uint64_t in_flight) const {
  return accepted == finished + total_dropped() + total_failed() + in_flight;
}

fates& fates::operator+=(const fates& other) {
  accepted += other.accepted;
  finished += other.finished;
  for (size_t i = 0; i < dropped.size(); ++i) dropped[i] += other.dropped[i];
  for (size_t i = 0; i < failed.size(); ++i) failed[i] += other.failed[i];
  return *this;
}

fates ledger::total() const {
  fates sum;
  for (const auto& m : models_) sum += m;
  return sum;
}

}  // namespace troupe
