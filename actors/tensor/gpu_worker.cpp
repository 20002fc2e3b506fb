#include "actors/tensor/gpu_worker.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {

gpu_worker::gpu_worker(address self, outbox& out, const options& o, device& runs, memory_port& memory)
    : actor(self, out), options_(o), device_(runs), memory_(memory) {}

/// A batch on the device uses our memory.
gpu_worker::~gpu_worker() {
  if (running_) device_.finish();
}

void gpu_worker::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](batch_order& o) { on_order(o, now); },
                       [&](pulled& p) { on_pulled(p, now); },
                       [&](release& r) { on_release(e.from, r); },
                       [&](slot_ready& s) { on_slot(s); },
                       [&](model_change& c) { on_change(c.line, now); },
                       [&](node_up& u) { on_node_up(u); },
                       [&](node_down& d) { on_node_down(d); },
                       [&](leadership& t) { on_leadership(t); },
                       [&](new_incarnation&) { start_over(); },
                   });
}

void gpu_worker::on_slot(const slot_ready& s) {
  if (s.slot != options_.slot) return;
  models_.clear();
  for (const auto& m : s.models) {
    if (m.model.value >= models_.size()) models_.resize(m.model.value + 1);
    models_[m.model.value] = {input_row_bytes(m.signature), output_row_bytes(m.signature)};
  }
}

/// Nobody waits for an undeployed model, nor, here, for one that has moved to another domain: what was
/// ordered and does not run yet never will.
void gpu_worker::on_change(const deployment& line, time_point now) {
  if (line.held_in(options_.domain)) {  // it came back before it was let go
    std::erase_if(leaving_, [&](const model_idle& i) { return i.model == line.model; });
    return;
  }
  if (line.model.value < models_.size()) models_[line.model.value].reset();
  for (auto i = jobs_.size(); i-- > (running_ ? 1 : 0);) {
    if (jobs_[i].order.model != line.model) continue;
    refuse(jobs_[i].order, refusal::unknown_model, now);
    give_up(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  leaving_.push_back({line.model, line.revision, self_});
  unload_leaving_models();
}

void gpu_worker::unload_leaving_models() {
  std::erase_if(leaving_, [&](const model_idle& i) {
    if (running_ && jobs_.front().order.model == i.model && !planted(bug::early_unload)) return false;
    device_.unload(i.model);
    send(on_node(self_.node, role::deployer), i);
    return true;
  });
}

void gpu_worker::on_order(batch_order& o, time_point now) {
  const bool outdated = o.term < highest_ || (o.term == leadership_.term && !is_from_leader(o));
  if (outdated && !planted(bug::obey_anybody)) return refuse(o, refusal::old_term, now);
  highest_ = std::max(highest_, o.term);
  if (now > o.start_by && !planted(bug::late_start)) return refuse(o, refusal::late, now);
  if (jobs_.size() >= options_.max_orders) return refuse(o, refusal::busy, now);
  if (o.model.value >= models_.size() || !models_[o.model.value])
    return refuse(o, refusal::unknown_model, now);

  const auto bytes = *models_[o.model.value];
  job j;
  j.token = next_token_;
  j.parts.resize(o.requests.size());
  for (size_t i = 0; i < j.parts.size(); ++i) {
    const auto& r = o.requests[i];
    auto& p = j.parts[i];
    if (bytes.output > 0) {
      auto taken = memory_.take(bytes.output * r.rows);
      if (!taken) {
        release_outputs(j);
        return refuse(o, refusal::no_memory, now);
      }
      p.output = *taken;
    }
    if (r.input.size != bytes.input * r.rows)
      p.error = failure::stale_memory;
    else if (r.input.size > 0)
      p.arrived = false;
    j.missing += !p.arrived;
  }
  j.order = std::move(o);
  j.received_at = now;
  if (j.missing == 0) j.inputs_at = now;
  next_token_ += j.parts.size();
  jobs_.push_back(std::move(j));
  auto& queued = jobs_.back();
  if (queued.missing == 0) return;
  for (size_t i = 0; i < queued.parts.size(); ++i) {
    auto& p = queued.parts[i];
    if (p.arrived) continue;
    const auto& input = queued.order.requests[i].input;
    p.pulled = memory_.pull_buffer(input);
    memory_.pull(input, p.pulled, self_, queued.token + i);
  }
}

void gpu_worker::on_pulled(const pulled& ended, time_point now) {
  const auto owns = [&](const job& j) {
    return ended.token >= j.token && ended.token < j.token + j.parts.size();
  };
  if (const auto dead = std::find_if(zombies_.begin(), zombies_.end(), owns); dead != zombies_.end()) {
    if (--dead->missing == 0) zombies_.erase(dead);
    return;
  }
  const auto it = std::find_if(jobs_.begin(), jobs_.end(), owns);
  if (it == jobs_.end()) return;
  auto& p = it->parts[ended.token - it->token];
  const auto& source = it->order.requests[ended.token - it->token].input;
  if (p.arrived) return;
  p.arrived = true;
  if (--it->missing == 0) it->inputs_at = now;
  const auto payload = ended.status == pull_status::ok ? memory_.verify(source, p.pulled) : std::nullopt;
  if (!payload)
    p.error = failure::stale_memory;
  else
    p.input = *payload;
}

void gpu_worker::on_time(time_point now) {
  if (running_) finish(now);
  preempt_for_waiting(now);
  while (!running_ && !jobs_.empty() && start(now)) {
  }
}

time_point gpu_worker::next_wakeup() const {
  if (running_) return device_.poll_at();
  if (jobs_.empty()) return never;
  const auto& next = jobs_.front();
  if (next.order.start_by == never || planted(bug::late_start)) return never;
  return next.order.start_by + 1ns;  // inputs that do not come hold up nobody
}

/// An order that preempts takes its turn at once when it can start: what runs is stopped, what waits before
/// it is refused. An order whose inputs are not here, or are gone, stops nobody.
void gpu_worker::preempt_for_waiting(time_point now) {
  const auto can_start = [&](const job& j) {
    return j.order.preempts && j.missing == 0 && now <= j.order.start_by &&
           std::any_of(j.parts.begin(), j.parts.end(),
                       [](const part& p) { return p.error == failure::none; });
  };
  const size_t first = running_ ? 1 : 0;
  auto next = jobs_.size();
  while (next > first && !can_start(jobs_[next - 1])) --next;
  if (next == first) return;
  for (auto i = next - 1; i-- > first;) {
    refuse(jobs_[i].order, refusal::preempted, now);
    give_up(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!running_ || stopping_) return;
  stopping_ = true;
  device_.stop(now);
  finish(now);
}

/// Starts the front job, or refuses it; false if it must wait.
bool gpu_worker::start(time_point now) {
  auto& j = jobs_.front();
  if (now > j.order.start_by && !planted(bug::late_start)) {
    refuse(j.order, refusal::late, now);
    give_up(jobs_.begin());
    return true;
  }
  if (j.missing > 0) return false;
  batch_work work;
  work.model = j.order.model;
  work.parts.reserve(j.parts.size());
  for (size_t i = 0; i < j.parts.size(); ++i) {
    const auto& p = j.parts[i];
    if (p.error != failure::none) continue;
    const auto rows = j.order.requests[i].rows;
    work.rows += rows;
    work.parts.push_back({rows, p.input, p.output.payload});
  }
  if (work.parts.empty()) {
    answer(j, {{}, now, now});
    jobs_.pop_front();
    return true;
  }
  device_.start(std::move(work), now);
  running_ = true;
  return false;
}

void gpu_worker::finish(time_point now) {
  batch_outcome outcome;
  if (!device_.poll(now, outcome) && !planted(bug::two_batches)) return;
  running_ = stopping_ = false;
  if (!outcome.lost.empty())  // the process ends and is started again; its requests go on elsewhere
                              // (supervision.hpp)
    throw std::runtime_error("slot " + std::to_string(options_.slot.value) +
                             ": its device is lost: " + outcome.lost);
  if (void_) {
    void_ = false;
    release_outputs(jobs_.front());
    jobs_.pop_front();
    return unload_leaving_models();
  }
  busy_ += outcome.finished_at - outcome.started_at;
  remember(jobs_.front(), outcome);
  if (outcome.stopped && !planted(bug::answer_stopped)) {
    was_preempted(jobs_.front(), outcome);
  } else {
    ++batches_;
    answer(jobs_.front(), outcome);
  }
  jobs_.pop_front();
  unload_leaving_models();
}

/// Forgets a job that does not run. Pulls may still be writing into its buffers.
void gpu_worker::give_up(std::deque<job>::iterator j) {
  release_outputs(*j);
  if (j->missing > 0) zombies_.push_back(std::move(*j));
  jobs_.erase(j);
}

void gpu_worker::on_node_down(const node_down& d) {
  if (const auto it = up_.find(d.node); it != up_.end() && it->second == d.incarnation) up_.erase(it);
  std::vector<region_ref> orphans;
  for (const auto& [generation, o] : offered_.entries())
    if (o.gateway == d.node && o.incarnation == d.incarnation) orphans.push_back(o.region);
  for (const auto& region : orphans) {
    memory_.give_back(region);
    offered_.erase(region.generation);
  }
  // Nobody waits for what a dead scheduler ordered.
  for (auto i = jobs_.size(); i-- > (running_ ? 1 : 0);)
    if (jobs_[i].order.queue.node == d.node && jobs_[i].order.queue.incarnation == d.incarnation)
      give_up(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
}

bool gpu_worker::is_up(const address& peer) const {
  const auto it = up_.find(peer.node);
  return it != up_.end() && it->second == peer.incarnation;
}

/// The orders of the old incarnation are void; what the device runs, and pulls under way, must still end
/// before their memory can go.
void gpu_worker::start_over() {
  for (const auto& [generation, o] : offered_.entries()) memory_.give_back(o.region);
  offered_.clear();
  up_.clear();
  void_ = running_;
  while (jobs_.size() > (running_ ? 1 : 0)) give_up(std::prev(jobs_.end()));
}

size_t gpu_worker::unfinished() const { return jobs_.size() + offered_.size(); }

void gpu_worker::report(std::vector<metric>& out) const {
  using enum metric::kind;
  const std::vector<std::pair<std::string, std::string>> labels{
      {"slot", std::to_string(options_.slot.value)}};
  out.push_back({"troupe_worker_batches_total", labels, static_cast<double>(batches_), counter});
  out.push_back({"troupe_worker_rows_total", labels, static_cast<double>(rows_), counter});
  out.push_back({"troupe_worker_busy_seconds_total", labels, to_seconds(busy_), counter});
  out.push_back({"troupe_worker_preempted_seconds_total", labels, to_seconds(in_vain_), counter});
  out.push_back({"troupe_worker_orders", labels, static_cast<double>(jobs_.size()), gauge});
  for (size_t i = 1; i < refusal_count; ++i)
    out.push_back({"troupe_worker_refusals_total",
                   {{"slot", std::to_string(options_.slot.value)},
                    {"reason", std::string(to_string(static_cast<refusal>(i)))}},
                   static_cast<double>(refusals_[i]),
                   counter});
}

}  // namespace troupe
