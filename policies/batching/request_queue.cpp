#include "policies/batching/request_queue.hpp"

#include <algorithm>
#include <utility>

#include "policies/batching/request_story.hpp"

namespace troupe {
namespace {

constexpr drop_grounds no_worker{drop_rule::no_worker};

/// Removes the waiting requests for which `leaves` holds and returns their handles.
std::vector<uint32_t> take_out(batching_policy& policy, poison_retry_queue& retries,
                               std::vector<uint32_t>& unplaced, const request_table& table,
                               const request_queue::condition& leaves) {
  std::vector<queued_request> removed;
  policy.remove_if([&](const queued_request& t) { return leaves(table[t.handle]); }, removed);
  std::vector<uint32_t> handles;
  for (const auto& t : removed) handles.push_back(t.handle);
  retries.remove_if([&](uint32_t handle) { return leaves(table[handle]); }, handles);
  std::erase_if(unplaced, [&](uint32_t handle) {
    const bool gone = leaves(table[handle]);
    if (gone) handles.push_back(handle);
    return gone;
  });
  return handles;
}

}  // namespace

request_queue::request_queue(const options& o, std::unique_ptr<batching_policy> policy)
    : options_(o),
      policy_(std::move(policy)),
      admission_(o.queues),
      ends_{decision_log(o.decision_log), load_counter(o.load_report), {}} {
  table_.remember(o.decision_log);
}

void request_queue::queue_up(uint32_t handle, time_point now) {
  if (wait_for_slot(handle, now)) return;
  const auto& r = table_[handle];
  policy_->arrived(r.shape_class, r.input.size);
  const auto& times = options_.times;
  const auto latency = policy_->latency_of(r.shape_class);
  if (slots_ == 0) return give_up(handle, drop_reason::no_capacity, no_worker, now);
  if (times.infeasible(r, latency)) {
    const drop_grounds why{drop_rule::batching, r.rows, now + times.network(r.rows),
                           now + times.alone(r, latency)};
    return give_up(handle, drop_reason::late, why, now);
  }
  const auto batch_rows = std::max(last_batch_rows_, r.rows);
  const auto in_time = admission_.bound(now, times.patience(r, batch_rows, latency, now), batch_rows, slots_);
  // An empty queue admits a request of any size.
  const auto bound = std::max(r.rows, std::min(options_.max_queued_rows, in_time));
  if (policy_->queued_rows() + r.rows > bound) {
    count_lost(r.rows, now);
    return give_up(handle, drop_reason::queue_full, {drop_rule::queue_bound, bound}, now);
  }
  queue_again(handle, now);
}

void request_queue::queue_again(uint32_t handle, time_point now) {
  const auto& r = table_[handle];
  policy_->add({options_.times.planned_deadline(r), r.id, r.rows, handle, r.shape_class}, now);
}

void request_queue::queue_alone(uint32_t handle, time_point now) {
  if (wait_for_slot(handle, now)) return;
  if (slots_ == 0) return give_up(handle, drop_reason::no_capacity, no_worker, now);
  const auto& r = table_[handle];
  retries_.add({handle, r.id, r.rows, r.deadline}, policy_->latency());
}

/// False: no slot is expected, or there is one.
bool request_queue::wait_for_slot(uint32_t handle, time_point now) {
  if (slots_ > 0 || now >= expected_until_) return false;
  if (unplaced_.size() >= options_.max_queued_rows) {
    give_up(handle, drop_reason::queue_full, {drop_rule::queue_bound, options_.max_queued_rows}, now);
  } else {
    unplaced_due_ = std::min(unplaced_due_, table_[handle].deadline);
    unplaced_.push_back(handle);
  }
  return true;
}

void request_queue::place_waiting(time_point now) {
  if (unplaced_.empty() || (slots_ == 0 && now < waiting_due())) return;
  const auto waited = std::exchange(unplaced_, {});
  unplaced_due_ = never;
  for (const auto handle : waited) {
    const auto& r = table_[handle];
    if (slots_ == 0 && now < expected_until_ && r.deadline <= now)
      give_up(handle, drop_reason::late, no_worker, now);
    else if (r.last_loss != worker_loss::none)
      queue_alone(handle, now);
    else
      queue_up(handle, now);
  }
}

void request_queue::give_up(uint32_t handle, drop_reason why, const drop_grounds& g, time_point now) {
  if (ends_.log.on()) ends_.log.drop(known_request(table_.all_of(handle)), now, why, g);
  drop(table_[handle], why);
  table_.release(handle);
}

void request_queue::drop(const request& r, drop_reason why) {
  if (is_overload(why) && !options_.times.infeasible(r, policy_->latency_of(r.shape_class)))
    ends_.load.count_bad();
  ends_.dropped.add(r, why);
}

void request_queue::give_up_if(const condition& leaves, drop_reason why, const drop_grounds& g,
                               time_point now) {
  for (const auto handle : take_out(*policy_, retries_, unplaced_, table_, leaves))
    give_up(handle, why, g, now);
}

size_t request_queue::release_if(const condition& leaves) {
  const auto handles = take_out(*policy_, retries_, unplaced_, table_, leaves);
  for (const auto handle : handles) table_.release(handle);
  return handles.size();
}

std::optional<address> request_queue::suspect(request_id id, worker_loss loss, time_point now) {
  const auto known = table_.find(id);
  if (!known || !table_.holds(*known)) {
    absent_suspects_.push({id, loss});
    return {};
  }
  table_[*known].last_loss = loss;
  const auto gateway = table_[*known].gateway;
  const auto is_it = [&](const request& r) { return r.id == id; };
  for (const auto waiting : take_out(*policy_, retries_, unplaced_, table_, is_it)) queue_alone(waiting, now);
  return gateway;
}

worker_loss request_queue::loss_of(request_id id) const {
  for (auto i = absent_suspects_.size(); i > 0; --i)
    if (absent_suspects_[i - 1].first == id) return absent_suspects_[i - 1].second;
  return worker_loss::none;
}

request_queue::batch request_queue::take_batch(batch_id id, time_point now) {
  batch out;
  out.rows = policy_->window().rows;
  batch_.clear();
  policy_->take_batch(batch_);
  out.requests.reserve(batch_.size());
  out.in_flight.handles.reserve(batch_.size());
  out.in_flight.first_deadline = never;
  for (const auto& t : batch_) {
    const auto& r = out.requests.emplace_back(table_[t.handle]);
    out.in_flight.first_deadline = std::min(out.in_flight.first_deadline, r.deadline);
    out.in_flight.handles.push_back(t.handle);
    if (ends_.log.on()) ends_.log.grant(t.handle, r.attempt, id);
  }
  last_batch_rows_ = out.rows;
  admission_.served(now, out.rows);
  return out;
}

request_queue::batch request_queue::take_poison_retry(batch_id id) {
  const auto handle = retries_.take_front().handle;
  const auto& r = table_[handle];
  if (ends_.log.on()) ends_.log.grant(handle, r.attempt, id);
  return {r.rows, {r}, {{}, {handle}, long_ago, true}};
}

void request_queue::give_up_late_retries(time_point now) {
  while (const auto handle = retries_.take_late(now, policy_->latency())) {
    if (slots_ == 0)
      give_up(*handle, drop_reason::no_capacity, no_worker, now);
    else
      give_up(*handle, drop_reason::late, {drop_rule::poison_retry_too_late}, now);
  }
}

void request_queue::give_up_shed(time_point now) {
  dropped_.clear();
  policy_->take_dropped(dropped_);
  for (const auto& d : dropped_) {
    count_lost(d.request.rows, now);
    if (slots_ == 0)
      give_up(d.request.handle, drop_reason::no_capacity, no_worker, now);
    else
      give_up(d.request.handle, d.reason, {drop_rule::batching, d.batch_rows, d.start, d.end}, now);
  }
}

void request_queue::forget_all() {
  take_out(*policy_, retries_, unplaced_, table_, [](const request&) { return true; });
  policy_->take_dropped(dropped_);
  table_.release_all();
  retries_.clear();
  ends_.dropped.forget();
}

void request_queue::set_policy(std::unique_ptr<batching_policy> policy, time_point now) {
  const auto old = std::exchange(policy_, std::move(policy));
  policy_->take_latency(*old);
  std::vector<queued_request> queued;
  old->remove_if([](const queued_request&) { return true; }, queued);
  for (const auto& t : queued) queue_again(t.handle, now);
}

void request_queue::learn(const in_flight_batch& b, duration took) {
  batch_sample s{table_[b.handles.front()].shape_class, 0, 0, took};
  for (const auto handle : b.handles) {
    s.rows += table_[handle].rows;
    s.bytes += table_[handle].input.size;
  }
  policy_->learn(s);
}

void request_queue::set_slots(const model_slots& s) {
  slots_ = s.here;
  expected_until_ = s.expected_until;
  if (s.replaced) admission_.forget();
  if (slots_ == 0) return;
  policy_->set_slots(std::max<uint32_t>(1, s.in_service));
  if (!options_.latency_given) policy_->set_latency(s.slowest);
}

}  // namespace troupe
