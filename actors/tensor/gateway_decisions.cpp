// What a gateway remembers of the requests that it ended by itself: it turned them away, or gave them up.
#include "actors/tensor/gateway.hpp"

namespace troupe {

void gateway::decide(in_flight_request& f, const outcome& how, time_point now, bool at_admission) {
  decided d;
  d.id = f.asked.id;
  d.model = f.asked.model;
  d.rows = f.asked.rows;
  d.tenant = f.asked.tenant;
  d.arrival = f.asked.arrival;
  d.deadline = f.asked.deadline;
  d.at = now;
  d.kind = how.kind;
  d.reason = how.reason;
  d.error = how.error;
  d.at_admission = at_admission;
  d.in_flight = in_flight_.size();
  d.retry_after = how.retry_after;
  d.detail = how.detail;
  decided_.push(std::move(d));
  settle(f, how, now);
}

gateway_decision gateway::explain(request_id id) const {
  gateway_decision out;
  out.decision_log = static_cast<uint32_t>(decided_.capacity());
  for (size_t i = decided_.size(); i-- > 0;) {
    const auto& d = decided_[i];
    if (d.id != id) continue;
    out.known = true;
    out.id = d.id;
    out.model = d.model;
    if (d.model.value < models_.size()) out.model_name = models_[d.model.value].name;
    out.rows = d.rows;
    out.arrival = d.arrival;
    out.deadline = d.deadline;
    out.at = d.at;
    out.at_admission = d.at_admission;
    const bool failed = d.kind == outcome_kind::failed;
    out.outcome = failed ? "failed" : "dropped";
    out.reason = failed ? to_string(d.error) : to_string(d.reason);
    out.detail = d.detail;
    if (d.tenant > 0 && d.tenant <= options_.tenants.size()) out.tenant = options_.tenants[d.tenant - 1];
    out.in_flight = d.in_flight;
    out.max_in_flight = options_.max_in_flight;
    out.retry_after = d.retry_after;
    break;
  }
  return out;
}

}  // namespace troupe
