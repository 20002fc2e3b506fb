// The commands (messages/tensor/commands.hpp) and the metrics of a gateway.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/common/ledger_report.hpp"
#include "actors/tensor/decision_log_size.hpp"
#include "actors/tensor/gateway.hpp"
#include "actors/tensor/open_requests.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {
namespace {

using summaries = std::map<std::string, outcome_summary>;

ledger_report ledger_report_of(const summaries& models) {
  ledger_report out;
  for (const auto& [name, m] : models) out.models.push_back(line_of(name, m.outcomes, m.in_time));
  return out;
}

latency_report latency_report_of(const summaries& models) {
  latency_report out;
  for (const auto& [name, m] : models) {
    model_latencies l{name, {}};
    for (const auto& [value, count] : m.latency.counts()) l.counts.push_back({value, count});
    out.models.push_back(std::move(l));
  }
  return out;
}

std::vector<open_request> open_requests_of(const in_flight_requests<in_flight_request>& requests,
                                           time_point now) {
  std::vector<open_request> all;
  for (const auto& [id, f] : requests.entries()) {
    const auto& r = f.asked;
    all.push_back({id, r.model, r.rows, r.attempt, now - r.arrival, r.deadline - now,
                   f.output ? "pulling" : "waiting"});
  }
  return all;
}

}  // namespace

command_reply gateway::on_command(const command& c, time_point now) {
  const auto models = [this] { return statistics_.by_name(models_.names(), in_flight_.counts().by_model()); };
  return run_command(
      gateway_commands{}, c,
      overloaded{
          [&](const get_state&) {
            auto s = state_of(in_flight_);
            s.late_answers = late_answers_;
            s.scheduler_up = scheduler_.up();
            return s;
          },
          [&](const get_ledger&) { return ledger_report_of(models()); },
          [&](const get_latencies&) { return latency_report_of(models()); },
          [&](const list_requests& l) { return answer_to(l, open_requests_of(in_flight_, now)); },
          [&](const cancel_request& r) {
            if (!in_flight_.contains(r.id))
              throw command_refused("cancel_request.id: no such request is in flight here");
            on_gone(r.id, now);
            return acknowledged{};
          },
          [&](const start_trace& s) {
            recorder_.start(s);
            return acknowledged{};
          },
          [&](const take_trace& t) { return recorder_.take(t); },
          [&](const stop_trace&) {
            recorder_.stop();
            return acknowledged{};
          },
          [&](const explain_request& e) {
            return decided_.explain(e.id, models_.names(), options_.tenants, options_.max_in_flight);
          },
          [&](const set_decision_log& s) {
            decided_ = outcome_log(checked(s));
            return acknowledged{};
          },
      });
}

std::string_view gateway::state() const {
  return in_flight_.draining() ? "draining" : scheduler_.up() ? "serving" : "no scheduler";
}

void gateway::report(std::vector<metric>& out) const {
  using enum metric::kind;
  using labels = std::vector<std::pair<std::string, std::string>>;
  const auto add = [&](const char* name, labels l, double value, metric::kind k) {
    out.push_back({name, std::move(l), value, k});
  };
  add("troupe_requests_in_flight", {}, static_cast<double>(in_flight_.size()), gauge);
  add("troupe_requests_outlived", {}, static_cast<double>(late_.size()), gauge);
  add("troupe_ledger_balanced", {}, balanced() ? 1 : 0, gauge);
  add("troupe_late_answers_total", {}, static_cast<double>(late_answers_), counter);
  add("troupe_requests_submitted_again_total", {}, static_cast<double>(submitted_again_), counter);
  const auto tenants = in_flight_.tenant_statistics();
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
  // a model without requests has no metrics yet
  const auto counts = in_flight_.counts().by_model();
  const std::span names(models_.names());
  for (const auto& [name, m] :
       statistics_.by_name(names.first(std::min(names.size(), counts.size())), counts)) {
    const auto& b = m.outcomes;
    add("troupe_requests_accepted_total", {{"model", name}}, static_cast<double>(b.accepted), counter);
    add("troupe_requests_finished_total", {{"model", name}}, static_cast<double>(b.finished), counter);
    add("troupe_requests_in_time_total", {{"model", name}}, static_cast<double>(m.in_time), counter);
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
          to_seconds(m.latency.quantile(q)), summary);
    const auto count = static_cast<double>(m.latency.count());
    add("troupe_request_latency_seconds_sum", {{"model", name}}, to_seconds(m.latency.mean()) * count,
        summary);
    add("troupe_request_latency_seconds_count", {{"model", name}}, count, summary);
  }
}

}  // namespace troupe
