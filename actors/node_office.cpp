// Who holds the office of the scheduler, as a node sees it; and how a node of the line takes it.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>

#include "actors/node.hpp"

namespace troupe {

/// Passes on what is news. Shells hear of it first: what their nodes' peers do about it comes later.
void node::learn_office(const tenure& t) {
  if (!elected_ || t.scheduler.value >= peers_.size() || !office_.learn(t, around_.time.now())) return;
  scheduler_ = t.scheduler;
  spdlog::info("event=tenure node={} scheduler={} epoch={}", around_.cluster.nodes[around_.self.value].name,
               around_.cluster.nodes[t.scheduler.value].name, t.reign.value);
  look_for_scheduler();
  around_.office.tell_all(t);
  for (uint32_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].state != stage::unknown) say_hello(node_id{i});
  caf::anon_send(around_.deployments, t);
  update_ready();
}

/// Asks the holder for signs of life, and takes the office if it is this node's turn.
void node::mind_office() {
  if (!elected_) return;
  const auto now = around_.time.now();
  const bool mine = scheduler_ == around_.self;
  if (office_.watches() && now >= next_beat_) {
    next_beat_ = now + office_.beat();
    around_.lane.ping_now(scheduler_);
  }
  if (const auto t = office_.decide(now, mine ? now : around_.lane.last_heard(scheduler_))) learn_office(*t);
}

bool node::scheduler_up() const {
  return elected_ ? office_.held()
                  : scheduler_ == around_.self ||
                        (peers_[scheduler_.value].state == stage::up && !peers_[scheduler_.value].leaving);
}

void node::look_for_scheduler() { around_.models.set_scheduler_up(scheduler_up()); }

bool node::junior_to(node_id other) const {
  if (other == scheduler_ || around_.self == scheduler_) return other == scheduler_;
  const auto spare = [&](node_id n) { return around_.cluster.nodes[n.value].schedules(); };
  return spare(around_.self) != spare(other) ? spare(around_.self) : around_.self > other;
}

duration node::wake_interval() const {
  const auto usual = around_.cluster.limits.heartbeat / 2;
  return elected_ && around_.cluster.nodes[around_.self.value].schedules() ? std::min(usual, office_.beat())
                                                                           : usual;
}

}  // namespace troupe
