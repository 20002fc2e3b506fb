#include "actors/tensor/gpu_worker.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "actors/tensor/batch_answers.hpp"

namespace troupe {

gpu_worker::gpu_worker(address self, outbox& out, const options& o, device& runs, memory_port& memory)
    : actor(self, out),
      options_(o),
      device_(runs),
      memory_(memory),
      orders_(memory, o.max_orders),
      offered_(memory) {}

/// A batch on the device uses the worker's memory.
gpu_worker::~gpu_worker() {
  if (orders_.run().active()) device_.finish();
}

void gpu_worker::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](batch_order& o) { on_order(o, now); },
                       [&](pulled& p) { orders_.on_pulled(p, now); },
                       [&](release& r) { offered_.on_release(e.from, r); },
                       [&](slot_ready& s) {
                         if (s.slot == options_.slot) models_.set(s.models);
                       },
                       [&](model_change& c) { on_change(c.line, now); },
                       [&](node_up& u) { on_node_up(u); },
                       [&](node_down& d) { on_node_down(d); },
                       [&](leadership& l) { on_leadership(l); },
                       [&](new_incarnation&) { on_new_incarnation(); },
                   });
}

void gpu_worker::on_time(time_point now) {
  if (orders_.run().active()) finish(now);
  preempt_for_waiting(now);
  while (!orders_.run().active() && !orders_.empty() && start(now)) {
  }
}

time_point gpu_worker::next_wakeup() const {
  if (orders_.run().active()) return device_.poll_at();
  if (orders_.empty()) return never;
  const auto start_by = orders_.front().order.start_by;
  if (start_by == never || planted(bug::late_start)) return never;
  return start_by + 1ns;  // then the batch is refused, if its inputs are still missing
}

size_t gpu_worker::unfinished() const { return orders_.size() + offered_.size(); }

void gpu_worker::on_order(batch_order& o, time_point now) {
  if (!authority_.accepts(o) && !planted(bug::obey_anybody)) return refuse(o, refusal::old_term, now);
  authority_.note(o.term);
  if (now > o.start_by && !planted(bug::late_start)) return refuse(o, refusal::late, now);
  if (orders_.full()) return refuse(o, refusal::busy, now);
  const auto* row = models_.find(o.model);
  if (row == nullptr) return refuse(o, refusal::unknown_model, now);
  if (!orders_.take(o, *row, up_, self_, now)) refuse(o, refusal::no_memory, now);
}

/// Unloads a model that is undeployed or has moved to another domain, and refuses its waiting batches.
void gpu_worker::on_change(const deployment& line, time_point now) {
  if (line.held_in(options_.domain)) return models_.stay(line.model);
  orders_.give_up_where([&](const batch_order& o) {
    if (o.model != line.model) return false;
    refuse(o, refusal::unknown_model, now);
    return true;
  });
  models_.leave({line.model, line.revision, self_});
  unload_leaving_models();
}

void gpu_worker::unload_leaving_models() {
  std::optional<model_id> running;
  if (orders_.run().active() && !planted(bug::early_unload)) running = orders_.front().order.model;
  for (const auto& idle : models_.take_idle(running)) {
    device_.unload(idle.model);
    send(on_node(self_.node, role::deployer), idle);
  }
}

void gpu_worker::on_node_up(const node_up& u) {
  up_.add(u);
  const auto& leader = authority_.leader();
  if (leader.term != term_id{} && u.node == leader.scheduler && u.incarnation == leader.incarnation)
    hand_over();
}

/// Drops the waiting orders of a dead scheduler and the outputs for a dead gateway. A gateway that lives, but
/// that the worker does not reach, learns of them from their queues.
void gpu_worker::on_node_down(const node_down& d) {
  up_.remove(d);
  for (auto& [queue, undelivered] : offered_.lose(d.node, d.incarnation)) send(queue, std::move(undelivered));
  orders_.give_up_where(
      [&](const batch_order& o) { return o.queue.node == d.node && o.queue.incarnation == d.incarnation; });
}

/// Drops the waiting orders of earlier leaders: gateways resubmit their requests.
void gpu_worker::on_leadership(const leadership& latest) {
  if (!authority_.change(latest)) return;
  orders_.give_up_where([&](const batch_order& o) { return !authority_.is_from_leader(o); });
  if (up_.contains(address{latest.scheduler, latest.incarnation, role::rank_arbiter, 0})) hand_over();
}

/// Called once the leader is up, so that the message is not lost.
void gpu_worker::hand_over() {
  const auto& leader = authority_.leader();
  handover h{options_.slot, self_, leader.term, {}, {}, {}};
  if (orders_.run().active() && !orders_.run().is_void() &&
      !authority_.is_from_leader(orders_.front().order)) {
    auto& o = orders_.front().order;
    h.batch = o.batch;
    h.model = o.model;
    h.requests = o.requests;
    // the new queue receives the end of the batch
    o.queue = {leader.scheduler, leader.incarnation, role::model_queue, o.model.value};
  }
  send({leader.scheduler, leader.incarnation, role::rank_arbiter, 0}, std::move(h));
}

/// Orders of the old incarnation are void. The running batch and open pulls keep their memory until they end.
void gpu_worker::on_new_incarnation() {
  offered_.clear();
  up_.clear();
  orders_.start_over();
}

/// Starts, answers or refuses the front batch. True: the next one can be tried.
bool gpu_worker::start(time_point now) {
  auto& b = orders_.front();
  if (now > b.order.start_by && !planted(bug::late_start)) {
    refuse(b.order, refusal::late, now);
    orders_.give_up_front();
    return true;
  }
  if (b.missing > 0) return false;
  auto work = b.work();
  if (work.parts.empty()) {
    answer(b, {{}, now, now});
    orders_.drop_front();
    return true;
  }
  device_.start(std::move(work), now);
  orders_.run().start();
  return false;
}

/// Stops the running batch for a waiting order that preempts and can start; the batches that wait before it
/// are refused.
void gpu_worker::preempt_for_waiting(time_point now) {
  const auto refuse_it = [&](const batch_order& o) { refuse(o, refusal::preempted, now); };
  if (!orders_.clear_way(now, refuse_it) || !orders_.run().active() || orders_.run().stopping()) return;
  orders_.run().stop();
  device_.stop(now);
  finish(now);
}

void gpu_worker::finish(time_point now) {
  batch_outcome outcome;
  if (!device_.poll(now, outcome) && !planted(bug::two_batches)) return;
  const bool of_earlier_incarnation = orders_.run().end();
  if (!outcome.lost.empty())  // the process is restarted (supervision.hpp); its requests run elsewhere
    throw std::runtime_error("slot " + std::to_string(options_.slot.value) +
                             ": its device is lost: " + outcome.lost);
  if (of_earlier_incarnation) {
    orders_.give_up_front();
    return unload_leaving_models();
  }
  auto& b = orders_.front();
  const bool preempted = outcome.stopped && !planted(bug::answer_stopped);
  statistics_.on_ended(outcome, preempted);
  history_.add({b.order.model, static_cast<uint32_t>(b.parts.size()), b.rows(), outcome.started_at,
                outcome.finished_at, outcome.stopped});
  if (!preempted) orders_.keep_shaped_outputs(outcome);
  preempted ? answer_preempted(b, outcome) : answer(b, outcome);
  orders_.drop_front();
  unload_leaving_models();
}

void gpu_worker::answer(ordered_batch& b, const batch_outcome& outcome) {
  auto answers = answers_to(b, outcome, up_);
  for (size_t i = 0; i < b.parts.size(); ++i) {
    const auto& p = b.parts[i];
    if (p.output.region && p.error != failure::none)
      memory_.give_back(p.output.region);
    else if (p.output.region)
      offered_.add(p.output.region, b.order.requests[i], b.order.queue);
  }
  statistics_.on_answered(b, answers.done.rows, outcome);
  for (auto& [gateway, results] : answers.replies) send(gateway, std::move(results));
  send_batch_done(b.order, answers.done);
}

/// The queue reruns the requests, or drops them as late. Gateways get no message.
void gpu_worker::answer_preempted(const ordered_batch& b, const batch_outcome& outcome) {
  const auto& o = b.order;
  statistics_.on_preempted(b, outcome);
  orders_.release_outputs(b);
  send_batch_done(
      o, {o.batch, o.model, o.slot, refusal::preempted, 0, outcome.started_at, outcome.finished_at, {}});
}

void gpu_worker::refuse(const batch_order& o, refusal why, time_point now) {
  statistics_.on_refused(o, why, now);
  send_batch_done(o, {o.batch, o.model, o.slot, why, 0, now, now, {}});
}

void gpu_worker::send_batch_done(const batch_order& o, const batch_done& d) {
  send(o.queue, d);
  send({o.queue.node, o.queue.incarnation, role::rank_arbiter, options_.domain}, d);
}

}  // namespace troupe
