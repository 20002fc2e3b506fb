#include "actors/gpu_worker.hpp"

#include <algorithm>

namespace troupe {
namespace {

uint64_t key_of(node_id node, incarnation life) { return life.value * 65599 + node.value; }

}  // namespace

gpu_worker::gpu_worker(address self, outbox& out, const options& o, device& runs, memory_port& memory)
    : shell(self, out), options_(o), device_(runs), memory_(memory) {}

void gpu_worker::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](batch_order& o) { on_order(o, now); },
                       [&](pulled& p) { on_pulled(p); },
                       [&](release& r) {
                         auto& mine = offered_[key_of(e.from.node, e.from.life)];
                         for (const auto& region : r.regions) {
                           memory_.give_back(region);
                           std::erase(mine, region);
                         }
                       },
                       [&](slot_ready& s) {
                         if (s.slot != options_.slot) return;
                         for (const auto& m : s.models) {
                           if (m.model.value >= models_.size()) models_.resize(m.model.value + 1);
                           models_[m.model.value] = m.signature;
                         }
                       },
                       [&](node_down& d) {
                         const auto it = offered_.find(key_of(d.node, d.life));
                         if (it == offered_.end()) return;
                         for (const auto& region : it->second) memory_.give_back(region);
                         offered_.erase(it);
                       },
                       [&](reborn& r) { start_over(r.life); },
                   });
}

void gpu_worker::on_order(batch_order& o, time_point now) {
  if (o.reign < highest_) return refuse(o, refusal::old_epoch, now);
  highest_ = o.reign;
  if (now > o.start_by) return refuse(o, refusal::late, now);
  if (jobs_.size() >= options_.max_orders) return refuse(o, refusal::busy, now);
  if (o.model.value >= models_.size() || !models_[o.model.value])
    return refuse(o, refusal::unknown_model, now);

  job j;
  j.order = std::move(o);
  j.token = next_token_;
  const auto& signature = *models_[j.order.model.value];
  for (auto& r : j.order.requests) {
    part p;
    p.asked = r;
    p.output = memory_.take(output_row_bytes(signature) * r.rows);
    if (!p.output) {
      release_outputs(j);
      return refuse(j.order, refusal::no_memory, now);
    }
    if (r.input.size != input_row_bytes(signature) * r.rows) {
      p.error = failure::stale_memory;
      p.arrived = true;
    }
    j.parts.push_back(std::move(p));
  }
  next_token_ += j.parts.size();
  jobs_.push_back(std::move(j));
  auto& queued = jobs_.back();
  for (auto& p : queued.parts) queued.missing += !p.arrived;
  for (size_t i = 0; i < queued.parts.size(); ++i) {
    auto& p = queued.parts[i];
    if (p.arrived) continue;
    p.pulled = memory_.pull_buffer(p.asked.input);
    memory_.pull(p.asked.input, p.pulled, self_, queued.token + i);
  }
}

void gpu_worker::on_pulled(const pulled& ended) {
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
  if (p.arrived) return;
  p.arrived = true;
  --it->missing;
  const auto payload =
      ended.status == pull_status::ok ? memory_.verify(p.asked.input, p.pulled) : std::nullopt;
#ifndef TROUPE_BUG_SKIP_VERIFY
  if (!payload)
    p.error = failure::stale_memory;
  else
    p.input = *payload;
#else
  p.input = payload ? *payload : std::span<const std::byte>(p.pulled).subspan(16, p.asked.input.size);
#endif
}

void gpu_worker::on_time(time_point now) {
  if (running_) finish(now);
  while (!running_ && !jobs_.empty() && start(now)) {
  }
}

time_point gpu_worker::next_wakeup() const {
  if (running_) return device_.poll_at();
  if (jobs_.empty() || jobs_.front().missing > 0) return never;
  return jobs_.front().order.exec_at;
}

/// Starts the front job, or refuses it; false if it must wait.
bool gpu_worker::start(time_point now) {
  auto& j = jobs_.front();
  if (now > j.order.start_by) {
    // It cannot keep its promise any more, and pulls may still be writing into its buffers.
    release_outputs(j);
    refuse(j.order, refusal::late, now);
    if (j.missing > 0) zombies_.push_back(std::move(j));
    jobs_.pop_front();
    return true;
  }
  if (j.missing > 0 || now < j.order.exec_at) return false;
  batch_work work;
  work.model = j.order.model;
  for (auto& p : j.parts) {
    if (p.error != failure::none) continue;
    work.rows += p.asked.rows;
    work.parts.push_back({p.asked.rows, p.input, p.output->payload});
  }
  if (work.parts.empty()) {
    answer(j, {"", now, now});
    jobs_.pop_front();
    return true;
  }
  device_.start(std::move(work), now);
  running_ = true;
  return false;
}

void gpu_worker::finish(time_point now) {
  batch_outcome outcome;
  if (!device_.poll(now, outcome)) return;
  running_ = false;
  if (void_) {
    void_ = false;
    release_outputs(jobs_.front());
    jobs_.pop_front();
    return;
  }
  busy_ += outcome.finished_at - outcome.started_at;
  ++batches_;
  answer(jobs_.front(), outcome);
  jobs_.pop_front();
}

void gpu_worker::answer(job& j, const batch_outcome& outcome) {
  batch_done done{j.order.batch,
                  j.order.model,
                  j.order.slot,
                  refusal::none,
                  0,
                  outcome.started_at,
                  outcome.finished_at,
                  {}};
  std::vector<std::pair<address, completion>> answers;
  for (auto& p : j.parts) {
    if (p.error == failure::none && !outcome.error.empty()) p.error = failure::device_error;
    if (p.error == failure::none) done.rows += p.asked.rows;
    if (p.error == failure::stale_memory) done.stale.push_back(p.asked.id);
  }
  for (auto& p : j.parts) {
    auto it = std::find_if(answers.begin(), answers.end(),
                           [&](const auto& a) { return a.first == p.asked.gateway; });
    if (it == answers.end()) it = answers.insert(it, {p.asked.gateway, {j.order.batch, done.rows, {}}});
    result r{p.asked.id, p.asked.attempt, p.error, {}};
    if (p.error == failure::none) {
      r.output = p.output->region;
      offered_[key_of(p.asked.gateway.node, p.asked.gateway.life)].push_back(r.output);
    } else {
      memory_.give_back(p.output->region);
    }
    it->second.results.push_back(r);
  }
  rows_ += done.rows;
  for (auto& [gateway, c] : answers) send(gateway, std::move(c));
  tell_done(j.order, done);
}

void gpu_worker::refuse(const batch_order& o, refusal why, time_point now) {
  ++refusals_[static_cast<size_t>(why)];
  tell_done(o, {o.batch, o.model, o.slot, why, 0, now, now, {}});
}

void gpu_worker::tell_done(const batch_order& o, const batch_done& d) {
  send(o.queue, d);
  send({o.queue.node, o.queue.life, role::rank_arbiter, 0}, d);
}

void gpu_worker::release_outputs(job& j) {
  for (auto& p : j.parts)
    if (p.output) memory_.give_back(p.output->region);
}

/// The orders of the old life are void; what the device runs, and pulls under way, must still end before
/// their memory can go.
void gpu_worker::start_over(incarnation life) {
  self_.life = life;
  for (const auto& [gateway, regions] : offered_)
    for (const auto& region : regions) memory_.give_back(region);
  offered_.clear();
  const size_t keep = running_ ? 1 : 0;
  void_ = running_;
  while (jobs_.size() > keep) {
    release_outputs(jobs_.back());
    if (jobs_.back().missing > 0) zombies_.push_back(std::move(jobs_.back()));
    jobs_.pop_back();
  }
}

size_t gpu_worker::unfinished() const {
  size_t n = jobs_.size();
  for (const auto& [gateway, regions] : offered_) n += regions.size();
  return n;
}

void gpu_worker::report(std::vector<metric>& out) const {
  using enum metric::kind;
  const std::vector<std::pair<std::string, std::string>> labels{
      {"slot", std::to_string(options_.slot.value)}};
  out.push_back({"troupe_worker_batches_total", labels, static_cast<double>(batches_), counter});
  out.push_back({"troupe_worker_rows_total", labels, static_cast<double>(rows_), counter});
  out.push_back({"troupe_worker_busy_seconds_total", labels, to_seconds(busy_), counter});
  out.push_back({"troupe_worker_orders", labels, static_cast<double>(jobs_.size()), gauge});
  for (size_t i = 1; i < refusal_count; ++i)
    out.push_back({"troupe_worker_refusals_total",
                   {{"slot", std::to_string(options_.slot.value)},
                    {"reason", std::string(to_string(static_cast<refusal>(i)))}},
                   static_cast<double>(refusals_[i]),
                   counter});
}

}  // namespace troupe
