// What a model queue does when the leader changes.
#include <algorithm>
#include <utility>

#include "actors/tensor/model_queue.hpp"

namespace troupe {

void model_queue::on_leadership(const leadership& latest, time_point now) {
  if (!options_.elected || !latest.later_than(leadership_)) return;
  leadership_ = latest;
  forget_requests();
  options_.term =
      latest.scheduler == self_.node && latest.incarnation == self_.incarnation ? latest.term : term_id{};
  // Queues of the model on other nodes count their batches, too: the low bits of the term keep them apart.
  if (is_leader())
    next_batch_ = std::max(next_batch_, options_.first_batch + ((latest.term.value & 0x7fff) << 48));
  for (const auto& r : std::exchange(held_, {}))
    if (is_leader()) take(r, now);
}

/// A queue that has just begun may be asked before it is told who is the leader. To one that was deposed, or
/// never was the leader, nobody submits who will not do so again to the leader.
void model_queue::hold(const request& r) {
  if (leadership_.term != term_id{}) return;
  if (held_.size() < options_.max_queued_rows) return held_.push_back(r);
  drop(r, drop_reason::queue_full);
}

/// A handover comes by way of the arbiter, the end of its batch does not.
void model_queue::keep_early(const batch_done& d) {
  constexpr size_t max_early = 1024;  // more than there are slots that could run so short
  if (options_.elected && is_leader() && early_.size() < max_early) early_[d.batch] = d;
}

/// What the last scheduler ordered and still runs is like a batch of this one from now on.
void model_queue::adopt(const handover& h, time_point now) {
  if (!is_leader() || h.term != options_.term || running_.contains(h.batch)) return;
  next_batch_ = std::max(next_batch_, h.batch.value + 1);
  const auto runs = [&](const request& r) {
    return std::any_of(h.requests.begin(), h.requests.end(), [&](const request& x) { return x.id == r.id; });
  };
  for (const auto handle : take_out(runs)) requests_.release(handle);  // a gateway was faster
  running_batch batch;
  batch.worker = h.worker;
  for (const auto& r : h.requests) {
    batch.handles.push_back(keep(r, now));
    adopted_.insert(r.id);
  }
  running_[h.batch] = std::move(batch);
  if (const auto early = early_.extract(h.batch); !early.empty()) on_done(early.mapped(), now);
}

}  // namespace troupe
