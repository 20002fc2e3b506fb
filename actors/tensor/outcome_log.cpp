#include "actors/tensor/outcome_log.hpp"

namespace troupe {

void outcome_log::add(const in_flight_request& f, const outcome& how, time_point now, bool at_admission,
                      size_t in_flight) {
  decision d;
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
  d.in_flight = in_flight;
  d.retry_after = how.retry_after;
  d.detail = how.detail;
  decisions_.push(d);
}

gateway_decision outcome_log::explain(request_id id, const std::vector<std::string>& models,
                                      const std::vector<std::string>& tenants, uint64_t max_in_flight) const {
  gateway_decision out;
  out.decision_log = static_cast<uint32_t>(decisions_.capacity());
  for (size_t i = decisions_.size(); i-- > 0;) {
    const auto& d = decisions_[i];
    if (d.id != id) continue;
    out.known = true;
    out.id = d.id;
    out.model = d.model;
    if (d.model.value < models.size()) out.model_name = models[d.model.value];
    out.rows = d.rows;
    out.arrival = d.arrival;
    out.deadline = d.deadline;
    out.at = d.at;
    out.at_admission = d.at_admission;
    const bool failed = d.kind == outcome_kind::failed;
    out.outcome = failed ? "failed" : "dropped";
    out.reason = failed ? to_string(d.error) : to_string(d.reason);
    out.detail = d.detail;
    if (d.tenant > 0 && d.tenant <= tenants.size()) out.tenant = tenants[d.tenant - 1];
    out.in_flight = d.in_flight;
    out.max_in_flight = max_in_flight;
    out.retry_after = d.retry_after;
    break;
  }
  return out;
}

}  // namespace troupe
