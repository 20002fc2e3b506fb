// What a worker does when the office of the scheduler changes hands.
#include <algorithm>

#include "actors/gpu_worker.hpp"

namespace troupe {

void gpu_worker::on_node_up(const node_up& u) {
  up_[u.node] = u.incarnation;
  if (office_.reign != epoch{} && u.node == office_.scheduler && u.incarnation == office_.incarnation)
    hand_over();
}

/// What does not run yet never will: the gateways submit it again.
void gpu_worker::on_tenure(const tenure& t) {
  if (!t.later_than(office_)) return;
  office_ = t;
  highest_ = std::max(highest_, t.reign);
  for (auto i = jobs_.size(); i-- > (running_ ? 1 : 0);)
    if (!is_of_office(jobs_[i].order)) give_up(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
  if (is_up({t.scheduler, t.incarnation, role::rank_arbiter, 0})) hand_over();
}

/// To a scheduler that is up: what it says now cannot get lost.
void gpu_worker::hand_over() {
  handover h{options_.slot, self_, office_.reign, {}, {}, {}};
  if (running_ && !void_ && !is_of_office(jobs_.front().order)) {
    auto& o = jobs_.front().order;
    h.batch = o.batch;
    h.model = o.model;
    h.requests = o.requests;
    o.queue = {office_.scheduler, office_.incarnation, role::model_queue,
               o.model.value};  // who is told of its end
  }
  send({office_.scheduler, office_.incarnation, role::rank_arbiter, 0}, std::move(h));
}

bool gpu_worker::is_of_office(const batch_order& o) const {
  return office_.reign == epoch{} || (o.reign == office_.reign && o.queue.incarnation == office_.incarnation);
}

}  // namespace troupe
