// What a worker does when the leader changes.
#include <algorithm>

#include "actors/tensor/gpu_worker.hpp"

namespace troupe {

void gpu_worker::on_node_up(const node_up& u) {
  up_[u.node] = u.incarnation;
  if (leadership_.term != term_id{} && u.node == leadership_.scheduler &&
      u.incarnation == leadership_.incarnation)
    hand_over();
}

/// What does not run yet never will: the gateways submit it again.
void gpu_worker::on_leadership(const leadership& latest) {
  if (!latest.later_than(leadership_)) return;
  leadership_ = latest;
  highest_ = std::max(highest_, latest.term);
  for (auto i = jobs_.size(); i-- > (running_ ? 1 : 0);)
    if (!is_from_leader(jobs_[i].order)) give_up(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
  if (is_up({latest.scheduler, latest.incarnation, role::rank_arbiter, 0})) hand_over();
}

/// To a scheduler that is up: what it says now cannot get lost.
void gpu_worker::hand_over() {
  handover h{options_.slot, self_, leadership_.term, {}, {}, {}};
  if (running_ && !void_ && !is_from_leader(jobs_.front().order)) {
    auto& o = jobs_.front().order;
    h.batch = o.batch;
    h.model = o.model;
    h.requests = o.requests;
    o.queue = {leadership_.scheduler, leadership_.incarnation, role::model_queue,
               o.model.value};  // who is told of its end
  }
  send({leadership_.scheduler, leadership_.incarnation, role::rank_arbiter, 0}, std::move(h));
}

bool gpu_worker::is_from_leader(const batch_order& o) const {
  return leadership_.term == term_id{} ||
         (o.term == leadership_.term && o.queue.incarnation == leadership_.incarnation);
}

}  // namespace troupe
