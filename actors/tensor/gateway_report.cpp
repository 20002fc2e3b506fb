// The metrics of a gateway.
#include <map>

#include "actors/tensor/gateway.hpp"

namespace troupe {

void gateway::report(std::vector<metric>& out) const {
  using enum metric::kind;
  using labels = std::vector<std::pair<std::string, std::string>>;
  const auto add = [&](const char* name, labels l, double value, metric::kind k) {
    out.push_back({name, std::move(l), value, k});
  };
  add("troupe_requests_in_flight", {}, static_cast<double>(in_flight_.size()), gauge);
  add("troupe_requests_outlived", {}, static_cast<double>(late_inputs_.size() + late_pulls_.size()), gauge);
  add("troupe_ledger_balanced", {}, balanced() ? 1 : 0, gauge);
  add("troupe_late_answers_total", {}, static_cast<double>(late_answers_), counter);
  add("troupe_requests_submitted_again_total", {}, static_cast<double>(submitted_again_), counter);
  const auto tenants = tenants_.statistics();
  for (size_t i = 0; i < options_.tenants.size(); ++i) {
    const auto& name = options_.tenants[i];
    const auto& b = tenants[i];
    add("troupe_tenant_requests_admitted_total", {{"tenant", name}}, static_cast<double>(b.admitted),
        counter);
    add("troupe_tenant_requests_refused_total", {{"tenant", name}, {"limit", "rate"}},
        static_cast<double>(b.over_rate), counter);
    add("troupe_tenant_requests_refused_total", {{"tenant", name}, {"limit", "concurrency"}},
        static_cast<double>(b.over_concurrency), counter);
    add("troupe_tenant_requests_in_flight", {{"tenant", name}}, static_cast<double>(b.in_flight), gauge);
  }
  // A model that was changed under its name has had several ids; outside it is one.
  std::map<std::string, std::pair<outcome_counts, latency_histogram>> models;
  std::map<std::string, uint64_t> in_time;
  const auto counts = ledger_.by_model();
  for (size_t i = 0; i < counts.size() && i < models_.size(); ++i) {
    auto& [sum, latency] = models[models_[i].name];
    sum += counts[i];
    latency.merge(models_[i].latency);
    in_time[models_[i].name] += models_[i].in_time;
  }
  for (const auto& [name, said] : models) {
    const auto& [b, latency] = said;
    add("troupe_requests_accepted_total", {{"model", name}}, static_cast<double>(b.accepted), counter);
    add("troupe_requests_finished_total", {{"model", name}}, static_cast<double>(b.finished), counter);
    add("troupe_requests_in_time_total", {{"model", name}}, static_cast<double>(in_time[name]), counter);
    for (size_t k = 1; k < drop_reason_count; ++k)
      add("troupe_requests_dropped_total",
          {{"model", name}, {"reason", std::string(to_string(static_cast<drop_reason>(k)))}},
          static_cast<double>(b.dropped[k]), counter);
    for (size_t k = 1; k < failure_count; ++k)
      add("troupe_requests_failed_total",
          {{"model", name}, {"reason", std::string(to_string(static_cast<failure>(k)))}},
          static_cast<double>(b.failed[k]), counter);
    for (double q : {0.5, 0.9, 0.99})
      add("troupe_request_latency_seconds",
          {{"model", name},
           {"quantile", q == 0.5   ? "0.5"
                        : q == 0.9 ? "0.9"
                                   : "0.99"}},
          to_seconds(latency.quantile(q)), gauge);
  }
}

}  // namespace troupe
