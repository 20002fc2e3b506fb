// What a model queue tells of itself, and can be asked from outside (messages/commands/commands.hpp).
#include <algorithm>

#include "actors/tensor/decision_log_size.hpp"
#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/open_requests.hpp"
#include "messages/commands/run_command.hpp"
#include "policies/registry/batchings.hpp"

namespace troupe {

command_reply model_queue::on_command(const command& c, time_point now) {
  return run_command(
      model_queue_commands{}, c,
      overloaded{
          [&](const get_state&) { return describe(now); },
          [&](const list_requests& l) { return list(l, now); },
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
            planned_slo_ = s.slo;
            return acknowledged{};
          },
          [&](const set_batching& s) {
            auto parameters = options_.parameters;
            std::unique_ptr<batching_policy> policy;
            try {
              policy = make_batching(s.batching, s.shedding, parameters);
            } catch (const std::exception& e) {  // a plug-in's
              throw command_refused("set_batching: '" + s.batching + "' cannot be made: " + e.what());
            }
            if (!policy)
              throw command_refused("set_batching: there is no policy '" + s.batching + "' with shedding '" +
                                    s.shedding + "'");
            options_.batching = s.batching;
            options_.shedding = s.shedding;
            options_.parameters = parameters;
            set_policy(std::move(policy), now);
            return acknowledged{};
          },
          [&](const explain_request& e) { return explain(e.id); },
          [&](const set_decision_log& s) {
            log_ = decision_log(checked(s));
            requests_.remember(s.requests);
            return acknowledged{};
          },
      });
}

std::string_view model_queue::state() const {
  return !is_leader() ? "standing by" : paused_ ? "paused" : placements_here_ == 0 ? "no slots" : "serving";
}

/// By handle.
std::vector<bool> model_queue::running_requests() const {
  std::vector<bool> out(requests_.handles());
  for (const auto& [id, batch] : running_)
    for (const auto handle : batch.handles) out[handle] = true;
  return out;
}

time_point model_queue::planned_deadline(const request& r) const {
  return planned_slo_ == duration{} ? r.deadline : std::min(r.deadline, r.arrival + planned_slo_);
}

/// What was queued goes over to the new policy.
void model_queue::set_policy(std::unique_ptr<batching_policy> policy, time_point now) {
  send_drops(now);  // what the old one gave up already
  auto old = std::exchange(policy_, std::move(policy));
  policy_->set_latency(old->latency());
  std::vector<queued_request> queued;
  old->remove_if([](const queued_request&) { return true; }, queued);
  for (auto& t : queued) {
    t.deadline = planned_deadline(requests_[t.handle]);
    policy_->add(t, now);
  }
  apply_placements();
}

queue_state model_queue::describe(time_point now) const {
  queue_state s;
  s.model = options_.name;
  s.state = state();
  s.queued_requests = policy_->queued_requests();
  s.queued_rows = policy_->queued_rows();
  s.running_batches = running_.size();
  for (const auto& [id, p] : placements_)
    s.slots += domain_of(id) == domain() && !out_of_service_.contains(id);
  const auto running = running_requests();
  auto head = never;
  requests_.for_each([&](uint32_t handle, const request& r) {
    if (!running[handle]) head = std::min(head, r.deadline);
  });
  if (head != never) s.head_deadline_in = head - now;
  if (const auto& w = policy_->window(); w.rows > 0 && !paused_) {
    s.candidate_rows = w.rows;
    s.candidate_exec_in = w.exec_at - now;
    s.candidate_latest_in = w.latest - now;
  }
  const auto& p = options_.parameters;
  s.batching = options_.batching;
  s.shedding = options_.shedding;
  s.slo = planned_slo_ == duration{} ? p.slo : std::min(p.slo, planned_slo_);
  s.response = p.response;
  s.margin = options_.margin;
  s.need = policy_->need();
  s.max_rows = p.max_rows;
  s.alpha = policy_->latency().alpha;
  s.beta = policy_->latency().beta;
  s.domain = domain_name();
  s.received = received_;
  return s;
}

open_requests model_queue::list(const list_requests& asked, time_point now) const {
  std::vector<open_request> all;
  const auto running = running_requests();
  requests_.for_each([&](uint32_t handle, const request& r) {
    all.push_back({r.id, r.model, r.rows, r.attempt, now - r.arrival, r.deadline - now,
                   running[handle] ? "running" : "waiting"});
  });
  return answer_to(asked, std::move(all));
}

void model_queue::report(std::vector<metric>& out) const {
  const auto add = [&](const char* name, double value, metric::kind kind,
                       std::vector<std::pair<std::string, std::string>> more = {}) {
    more.insert(more.begin(), {"model", options_.name});
    out.push_back({name, std::move(more), value, kind});
  };
  using enum metric::kind;
  add("troupe_queue_requests", static_cast<double>(policy_->queued_requests()), gauge);
  add("troupe_queue_rows", policy_->queued_rows(), gauge);
  add("troupe_queue_running_batches", static_cast<double>(running_.size()), gauge);
  add("troupe_queue_slots", is_leader() ? placements_here_ : 0, gauge);
  if (!options_.domain_names.empty())
    add("troupe_queue_domain", 1, gauge, {{"domain", domain_name()}});  // by its label
  add("troupe_queue_received_total", static_cast<double>(received_), counter);
  add("troupe_batches_total", static_cast<double>(batches_), counter);
  add("troupe_batched_rows_total", static_cast<double>(batched_rows_), counter);
  add("troupe_queue_resubmitted_total", static_cast<double>(resubmitted_), counter);
  add("troupe_queue_preempted_total", static_cast<double>(preempted_), counter);
  add("troupe_queue_poison_retries", static_cast<double>(poison_retries_.size()), gauge);
  add("troupe_queue_poisoned_total", static_cast<double>(poisoned_), counter);
  add("troupe_lost_with_gateway_total", static_cast<double>(lost_with_gateway_), counter);
  for (size_t i = 1; i < drop_reason_count; ++i)
    add("troupe_queue_drops_total", static_cast<double>(drops_[i]), counter,
        {{"reason", std::string(to_string(static_cast<drop_reason>(i)))}});
}

}  // namespace troupe
