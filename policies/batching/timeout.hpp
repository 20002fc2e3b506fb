// Timeout batching, as in TensorFlow Serving; the baseline of Symphony's Figure 6b (§3.4).
#pragma once
#include <optional>
#include <string_view>

#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// A batch starts when its earliest request has waited for `wait`, or at its latest start if that is earlier.
/// The arrival of a request is taken to be one SLO before its deadline.
///
/// Uncapped, it waits past its latest start and shrinks to the requests that still fit: exec = a + k, as in
/// the paper.
class timeout final : public deadline_batching {
 public:
  timeout(const batching_parameters& p, shedding rule, duration wait, bool capped = true)
      : deadline_batching(p, rule), wait_(wait), capped_(capped) {}

  /// Parses "30%" (of the SLO), "12.5ms" or "800us"; half of the SLO if empty. Empty result: invalid
  /// argument.
  static std::optional<duration> wait_of(std::string_view argument, duration slo);

 private:
  time_point exec_at(const gathered& batch) const override;

  const duration wait_;
  const bool capped_;
};

}  // namespace troupe
