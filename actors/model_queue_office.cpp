// What a model queue does when the office of the scheduler changes hands.
#include <algorithm>

#include "actors/model_queue.hpp"

namespace troupe {

void model_queue::on_tenure(const tenure& t) {
  if (!options_.elected || !t.later_than(office_)) return;
  office_ = t;
  forget_requests();
  options_.reign = t.scheduler == self_.node && t.life == self_.life ? t.reign : epoch{};
}

/// What the last scheduler ordered and still runs is like a batch of this one from now on.
void model_queue::adopt(const handover& h, time_point now) {
  if (!in_office() || h.reign != options_.reign || running_.contains(h.batch)) return;
  next_batch_ = std::max(next_batch_, h.batch.value + 1);
  const auto runs = [&](const request& r) {
    return std::any_of(h.requests.begin(), h.requests.end(), [&](const request& x) { return x.id == r.id; });
  };
  for (const auto handle : take_out(runs)) release(handle);  // a gateway was faster
  running_batch batch;
  batch.worker = h.worker;
  for (const auto& r : h.requests) {
    batch.handles.push_back(keep(r, now));
    adopted_.insert(r.id);
  }
  running_[h.batch] = std::move(batch);
}

}  // namespace troupe
