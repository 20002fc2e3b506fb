#include "patient.hpp"

#include <algorithm>

namespace patience {

using namespace troupe;

patient::patient(const batching_parameters& p, shedding rule)
    : deadline_batching(p, rule), fraction_(p.settings.number("fraction")) {}

time_point patient::exec_at(const gathered& batch) const {
  const auto& p = parameters();
  if (batch.rows >= p.max_rows) return batch.earliest;
  // The deadline minus the SLO is the arrival; the slack lasts from then until the latest start.
  const auto came = batch.finish_by + p.response - p.slo;
  const auto latest = batch.finish_by - p.latency(batch.rows) - p.margin;
  const auto slack = std::max(duration{0}, latest - came);
  const auto wait = duration{static_cast<int64_t>(fraction_ * static_cast<double>(slack.count()))};
  return std::max(batch.earliest, came + wait);
}

}  // namespace patience
