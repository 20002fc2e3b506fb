// Who is the leader, as a node sees it; and how a candidate becomes it.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>

#include "actors/cluster/node.hpp"

namespace troupe {

/// Passes on what is news. Actors hear of it first: what their nodes' peers do about it comes later.
void node::learn_leader(const leadership& latest) {
  if (!elected_ || latest.scheduler.value >= peers_.size() || !election_.learn(latest, env_.time.now()))
    return;
  scheduler_ = latest.scheduler;
  spdlog::info("event=leader_elected node={} scheduler={} term={}", env_.cluster.nodes[env_.self.value].name,
               env_.cluster.nodes[latest.scheduler.value].name, latest.term.value);
  update_scheduler_state();
  env_.post.broadcast(latest);
  for (uint32_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].state != stage::unknown) send_hello(node_id{i});
  caf::anon_send(env_.deployments, latest);
  update_ready();
}

/// Asks the leader for signs of life, and becomes the leader if it is this node's turn.
void node::check_leader() {
  if (!elected_) return;
  const auto now = env_.time.now();
  const bool mine = scheduler_ == env_.self;
  if (election_.watches() && now >= next_beat_) {
    next_beat_ = now + election_.beat();
    env_.lane.ping_now(scheduler_);
  }
  if (const auto latest = election_.decide(now, mine ? now : env_.lane.last_heard(scheduler_)))
    learn_leader(*latest);
}

bool node::scheduler_up() const {
  return elected_ ? election_.has_leader()
                  : scheduler_ == env_.self ||
                        (peers_[scheduler_.value].state == stage::up && !peers_[scheduler_.value].leaving);
}

void node::update_scheduler_state() { env_.models.set_scheduler_up(scheduler_up()); }

bool node::yields_to(node_id other) const {
  if (other == scheduler_ || env_.self == scheduler_) return other == scheduler_;
  const auto schedules = [&](node_id n) { return env_.cluster.nodes[n.value].schedules(); };
  return schedules(env_.self) != schedules(other) ? schedules(env_.self) : env_.self > other;
}

duration node::wake_interval() const {
  const auto usual = env_.cluster.limits.heartbeat / 2;
  return elected_ && env_.cluster.nodes[env_.self.value].schedules() ? std::min(usual, election_.beat())
                                                                     : usual;
}

}  // namespace troupe
