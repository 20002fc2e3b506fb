// What a model queue does when the office of the scheduler changes hands.
#include <algorithm>
#include <utility>

#include "actors/model_queue.hpp"

namespace troupe {

void model_queue::on_tenure(const tenure& t, time_point now) {
  if (!options_.elected || !t.later_than(office_)) return;
  office_ = t;
  forget_requests();
  options_.reign = t.scheduler == self_.node && t.incarnation == self_.incarnation ? t.reign : epoch{};
  // Queues of the model on other nodes count their batches, too: the low bits of the reign keep them apart.
  if (in_office())
    next_batch_ = std::max(next_batch_, options_.first_batch + ((t.reign.value & 0x7fff) << 48));
  for (const auto& r : std::exchange(held_, {}))
    if (in_office()) take(r, now);
}

/// A queue that has just begun may be asked before it is told whose office it is. To one that was deposed, or
/// never held it, nobody submits who will not do so again to the holder.
void model_queue::hold(const request& r) {
  if (office_.reign != epoch{}) return;
  if (held_.size() < options_.max_queued_rows) return held_.push_back(r);
  drop(r, drop_reason::queue_full);
}

/// A handover comes by way of the arbiter, the end of its batch does not.
void model_queue::keep_early(const batch_done& d) {
  constexpr size_t most = 1024;  // more than there are slots that could run so short
  if (options_.elected && in_office() && early_.size() < most) early_[d.batch] = d;
}

/// What the last scheduler ordered and still runs is like a batch of this one from now on.
void model_queue::adopt(const handover& h, time_point now) {
  if (!in_office() || h.reign != options_.reign || running_.contains(h.batch)) return;
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
