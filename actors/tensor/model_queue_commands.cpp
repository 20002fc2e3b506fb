// The commands of a model queue (messages/tensor/commands.hpp) and its metrics.
#include <algorithm>
#include <utility>

#include "actors/tensor/decision_log_size.hpp"
#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/open_requests.hpp"
#include "messages/commands/run_command.hpp"
#include "policies/batching/request_story.hpp"
#include "policies/registry/batchings.hpp"

namespace troupe {
namespace {

open_requests list(const list_requests& asked, const request_table& table, const in_flight_batches& in_flight,
                   time_point now) {
  std::vector<open_request> all;
  const auto running = in_flight.running(table.handles());
  table.for_each([&](uint32_t handle, const request& r) {
    all.push_back({r.id, r.model, r.rows, r.attempt, now - r.arrival, r.deadline - now,
                   running[handle] ? "running" : "waiting"});
  });
  return answer_to(asked, std::move(all));
}

std::unique_ptr<batching_policy> make(const set_batching& s, const batching_parameters& p) {
  std::unique_ptr<batching_policy> policy;
  try {
    policy = make_batching(s.batching, s.shedding, p);
  } catch (const std::exception& e) {  // a plug-in's
    throw command_refused("set_batching: '" + s.batching + "' cannot be created: " + e.what());
  }
  if (!policy)
    throw command_refused("set_batching: there is no policy '" + s.batching + "' with shedding '" +
                          s.shedding + "'");
  return policy;
}

std::string domain_name(const model_queue::options& o) {
  const auto domain = o.arbiter.index;
  return domain < o.domain_names.size() ? o.domain_names[domain] : std::string{};
}

}  // namespace

command_reply model_queue::on_command(const command& c, time_point now) {
  return run_command(model_queue_commands{}, c,
                     overloaded{
                         [&](const get_state&) { return describe(now); },
                         [&](const list_requests& l) { return list(l, requests_.table(), in_flight_, now); },
                         [&](const pause_batching&) {
                           paused_ = true;
                           return acknowledged{};
                         },
                         [&](const resume_batching&) {
                           paused_ = false;
                           return acknowledged{};
                         },
                         [&](const set_slo& s) {
                           if (s.slo < duration{} || s.slo > 24h)
                             throw command_refused("set_slo.slo: must be from 0 to a day");
                           requests_.set_slo(s.slo);
                           return acknowledged{};
                         },
                         [&](const set_batching& s) {
                           auto policy = make(s, options_.parameters);
                           options_.batching = s.batching;
                           options_.shedding = s.shedding;
                           send_drops(now);  // of the old policy
                           requests_.set_policy(std::move(policy), now);
                           apply_placements();
                           return acknowledged{};
                         },
                         [&](const explain_request& e) {
                           auto s = explain(e.id, requests_.ends().log, requests_.table(), in_flight_,
                                            longest_list);
                           s.model = options_.model;
                           s.model_name = options_.name;
                           s.batching = options_.batching;
                           s.shedding = options_.shedding;
                           s.alpha = requests_.policy().latency().alpha;
                           s.beta = requests_.policy().latency().beta;
                           s.response = options_.parameters.response;
                           s.arbiter = options_.arbiter;
                           return s;
                         },
                         [&](const set_decision_log& s) {
                           requests_.ends().log = decision_log(checked(s));
                           requests_.table().remember(s.requests);
                           return acknowledged{};
                         },
                     });
}

std::string_view model_queue::state() const {
  return !leading_.leads()        ? "standing by"
         : paused_                ? "paused"
         : requests_.slots() == 0 ? "no slots"
                                  : "serving";
}

queue_state model_queue::describe(time_point now) const {
  const auto& policy = requests_.policy();
  queue_state s;
  s.model = options_.name;
  s.state = state();
  s.queued_requests = policy.queued_requests() + requests_.waiting_for_slot();
  s.queued_rows = policy.queued_rows();
  s.running_batches = in_flight_.size();
  s.slots = placements_.summary().in_service;
  const auto running = in_flight_.running(requests_.table().handles());
  auto head = never;
  requests_.table().for_each([&](uint32_t handle, const request& r) {
    if (!running[handle]) head = std::min(head, r.deadline);
  });
  if (head != never) s.head_deadline_in = head - now;
  if (const auto& w = policy.window(); w.rows > 0 && !paused_) {
    s.candidate_rows = w.rows;
    s.candidate_exec_in = w.exec_at - now;
    s.candidate_latest_in = w.latest - now;
  }
  const auto& p = options_.parameters;
  const auto slo = requests_.times().slo;
  s.batching = options_.batching;
  s.shedding = options_.shedding;
  s.slo = slo == duration{} ? p.slo : std::min(p.slo, slo);
  s.response = p.response;
  s.margin = options_.margin;
  s.need = policy.need();
  s.max_rows = p.max_rows;
  s.alpha = policy.latency().alpha;
  s.beta = policy.latency().beta;
  s.domain = domain_name(options_);
  s.received = received_;
  return s;
}

void model_queue::report(std::vector<metric>& out) const {
  const auto add = [&](const char* name, double value, metric::kind kind,
                       std::vector<std::pair<std::string, std::string>> more = {}) {
    more.insert(more.begin(), {"model", options_.name});
    out.push_back({name, std::move(more), value, kind});
  };
  using enum metric::kind;
  add("troupe_queue_requests",
      static_cast<double>(requests_.policy().queued_requests() + requests_.waiting_for_slot()), gauge);
  add("troupe_queue_rows", requests_.policy().queued_rows(), gauge);
  add("troupe_queue_running_batches", static_cast<double>(in_flight_.size()), gauge);
  add("troupe_queue_slots", leading_.leads() ? requests_.slots() : 0, gauge);
  if (!options_.domain_names.empty())
    add("troupe_queue_domain", 1, gauge, {{"domain", domain_name(options_)}});  // the label is the value
  add("troupe_queue_received_total", static_cast<double>(received_), counter);
  add("troupe_batches_total", static_cast<double>(batches_), counter);
  add("troupe_batched_rows_total", static_cast<double>(batched_rows_), counter);
  add("troupe_queue_resubmitted_total", static_cast<double>(resubmitted_), counter);
  add("troupe_queue_preempted_total", static_cast<double>(preempted_), counter);
  add("troupe_queue_poison_retries", static_cast<double>(requests_.retries().size()), gauge);
  add("troupe_queue_poisoned_total", static_cast<double>(poisoned_), counter);
  add("troupe_lost_with_gateway_total", static_cast<double>(lost_with_gateway_), counter);
  for (size_t i = 1; i < drop_reason_count; ++i) {
    const auto why = static_cast<drop_reason>(i);
    add("troupe_queue_drops_total", static_cast<double>(requests_.ends().dropped.count(why)), counter,
        {{"reason", std::string(to_string(why))}});
  }
}

}  // namespace troupe
