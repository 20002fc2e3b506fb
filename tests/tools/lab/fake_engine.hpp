// An engine for tests: its results follow from a formula.
#pragma once
#include <algorithm>

#include "tools/lab/trial.hpp"

namespace troupe::lab {

/// A GPU serves 100 requests a second, with eager batching only 80. The excess is lost. The seed changes both
/// by a percent at most.
inline trial_result run_fake(const trial& t, trial_watch*) {
  const double each = t.how.batching == "eager" ? 80 : 100;
  const double capacity = each * t.slots * (1 + 0.002 * static_cast<double>(t.seed % 5));
  const double good = std::min(1.0, capacity / t.rate);
  trial_result r;
  r.measured = t.length - t.warm_up;
  const double requests = t.rate * to_seconds(r.measured);
  for (size_t i = 0; i < t.models.size(); ++i) {
    const auto offered = static_cast<uint64_t>(requests / static_cast<double>(t.models.size()));
    r.models.push_back({offered, static_cast<uint64_t>(good * static_cast<double>(offered))});
  }
  r.batches = {0, 0, 0, 0, 10};  // all batches have four rows
  r.busy.assign(t.slots, r.measured / 2);
  r.queueing.add(3ms);
  return r;
}

}  // namespace troupe::lab
