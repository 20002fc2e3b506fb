// How a node leaves, and lets others leave: nobody goes while an actor has something under way with it.
#include <algorithm>
#include <caf/all.hpp>

#include "actors/cluster/node.hpp"
#include "actors/common/planted_bug.hpp"

namespace troupe {

/// What the actors of this node still have to do.
void node::ask_caf_hosts() {
  gathered_ = {};
  for (auto& p : peers_) p.asked_for = p.leave_ack_due;
  reports_missing_ = env_.post.caf_hosts().size();
  const handle me{self_};
  for (const auto& caf_host : env_.post.caf_hosts())
    caf::anon_send(caf_host, report_query{[me](group_report r) { caf::anon_send(me, std::move(r)); }});
}

void node::on_report(const group_report& r) {
  if (reports_missing_ == 0) return;
  gathered_.unfinished += r.unfinished;
  gathered_.busy_with.insert(gathered_.busy_with.end(), r.busy_with.begin(), r.busy_with.end());
  if (--reports_missing_ > 0) return;
  send_leave_acks();
  leave_if_done();
}

/// To nodes with which no actor has anything under way. The actors were asked after they had heard of the
/// leave notices, so that they begin nothing new.
void node::send_leave_acks() {
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    auto& p = peers_[i];
    if (p.state != stage::up || !p.leave_ack_due || !p.asked_for) continue;
    if (std::find(gathered_.busy_with.begin(), gathered_.busy_with.end(), node_id{i}) !=
        gathered_.busy_with.end())
      continue;
    p.leave_ack_due = false;
    send(node_id{i}, leave_ack{env_.self, incarnation_});
  }
}

void node::leave_if_done() {
  if (!draining_ || gathered_.unfinished > 0) return;
  const bool waited_for = std::any_of(peers_.begin(), peers_.end(),
                                      [](const peer& p) { return p.state == stage::up && !p.leave_acked; });
  if (!waited_for || planted(bug::hasty_leave)) env_.on_drained();
}

}  // namespace troupe
