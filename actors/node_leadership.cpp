// Who is the leader, as a node sees it; and how a candidate becomes it.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>

#include "actors/node.hpp"

namespace troupe {

/// Passes on what is news. Actors hear of it first: what their nodes' peers do about it comes later.
void node::learn_leader(const leadership& latest) {
  if (!elected_ || latest.scheduler.value >= peers_.size() || !election_.learn(latest, around_.time.now()))
    return;
  scheduler_ = latest.scheduler;
  spdlog::info("event=leader_elected node={} scheduler={} term={}",
               around_.cluster.nodes[around_.self.value].name,
               around_.cluster.nodes[latest.scheduler.value].name, latest.term.value);
  look_for_scheduler();
  around_.post.tell_all(latest);
  for (uint32_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].state != stage::unknown) say_hello(node_id{i});
  caf::anon_send(around_.deployments, latest);
  update_ready();
}

/// Asks the leader for signs of life, and becomes the leader if it is this node's turn.
void node::check_leader() {
  if (!elected_) return;
  const auto now = around_.time.now();
  const bool mine = scheduler_ == around_.self;
  if (election_.watches() && now >= next_beat_) {
    next_beat_ = now + election_.beat();
    around_.lane.ping_now(scheduler_);
  }
  if (const auto latest = election_.decide(now, mine ? now : around_.lane.last_heard(scheduler_)))
    learn_leader(*latest);
}

bool node::scheduler_up() const {
  return elected_ ? election_.has_leader()
                  : scheduler_ == around_.self ||
                        (peers_[scheduler_.value].state == stage::up && !peers_[scheduler_.value].leaving);
}

void node::look_for_scheduler() { around_.models.set_scheduler_up(scheduler_up()); }

bool node::junior_to(node_id other) const {
  if (other == scheduler_ || around_.self == scheduler_) return other == scheduler_;
  const auto schedules = [&](node_id n) { return around_.cluster.nodes[n.value].schedules(); };
  return schedules(around_.self) != schedules(other) ? schedules(around_.self) : around_.self > other;
}

duration node::wake_interval() const {
  const auto usual = around_.cluster.limits.heartbeat / 2;
  return elected_ && around_.cluster.nodes[around_.self.value].schedules() ? std::min(usual, election_.beat())
                                                                           : usual;
}

}  // namespace troupe
