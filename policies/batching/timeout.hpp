// Batching by a time-out, as in TensorFlow Serving: the yardstick of Symphony's Figure 6b (§3.4).
#pragma once
#include <optional>
#include <string_view>

#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// A batch wants to start when its earliest request has waited for `wait`, or at its latest start if that is
/// earlier. A request is taken to have arrived one SLO before its deadline.
///
/// Uncapped, it waits on beyond its latest start, and becomes smaller by what no longer fits: exec = a + k to
/// the letter.
class timeout final : public deadline_batching {
 public:
  timeout(const batching_parameters& p, shedding rule, duration wait, bool capped = true)
      : deadline_batching(p, rule), wait_(wait), capped_(capped) {}

  /// "30%" of the SLO, "12.5ms", "800us"; half of the SLO if empty. None: it is nothing of these.
  static std::optional<duration> wait_of(std::string_view argument, duration slo);

 private:
  time_point exec_at(const gathered& batch) const override;

  const duration wait_;
  const bool capped_;
};

}  // namespace troupe
