#include "actors/cluster/node.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>
#include <utility>

#include "messages/common/version.hpp"

namespace troupe {

node::node(handle::pointer self, environment s)
    : self_(self),
      env_(std::move(s)),
      incarnation_(env_.lane.incarnation()),
      peers_(env_.cluster.nodes.size()),
      elected_(has_standby(env_.cluster)),
      election_({env_.self, leader_candidates(env_.cluster), env_.cluster.nodes.size(),
                 env_.cluster.limits.takeover, env_.cluster.limits.node_timeout}),
      scheduler_(scheduler_of(env_.cluster)),
      detector_(env_.cluster.limits.node_timeout) {
  election_.begin(incarnation_, env_.time.now());
  update_scheduler_state();
}

node::handle::behavior_type node::make_behavior() {
  report_exceptions(*self_, env_.broken);
  env_.post.broadcast(node_up{env_.self, incarnation_});
  on_wake();
  return {[this](const control_frame& f) {
            ++messages_;
            on_frame(f);
          },
          [this](const slot_ready& s) { on_local_slot(s); },
          [this](const deployment_log& log) { on_deployments(log); },
          [this](const deployment_report& r) { pass_on(r); },
          [this](const peer_synchronised& p) { on_synchronised(p.node, p.incarnation); },
          [this](const peer_lost& l) { on_lost(l); },
          [this](const group_report& r) { on_report(r); },
          [this](const report_query& q) { q.reply(report()); },
          [this](const command_query& q) { q.reply(on_command(q.what)); },
          [this](wake_atom) { on_wake(); },
          [this](drain_atom) {
            if (draining_) return;
            draining_ = true;
            drain_until_ = env_.time.now() + env_.cluster.limits.drain_timeout;
            election_.drain();
            env_.post.broadcast(drain{});
            send_to_peers(caf::make_message(leave_notice{env_.self, incarnation_}));
            spdlog::info("event=drain node={}", env_.cluster.nodes[env_.self.value].name);
          }};
}

void node::on_frame(const control_frame& f) {
  if (f.from.node.value >= peers_.size() || f.from.node == env_.self) return;
  notice_freeze(
      env_.time.now());  // or its next hello would be that of an incarnation which is over for its peers
  if (f.body.match_elements<hello>()) return on_hello(f.from, f.body.get_as<hello>(0));
  if (f.body.match_elements<rejection>()) return on_rejection(f.body.get_as<rejection>(0));
  // All else only from the incarnation that we know, to the incarnation that we are.
  auto& p = peers_[f.from.node.value];
  if (p.state == stage::unknown || p.incarnation != f.from.incarnation) return;
  if (f.to.incarnation != incarnation_id{} && f.to.incarnation != incarnation_) return;
  if (f.to.kind == role::deployer) return caf::anon_send(env_.deployments, f);
  if (f.body.match_elements<slot_ready>()) return on_peer_slot(f.body.get_as<slot_ready>(0));
  if (f.body.match_elements<leave_ack>()) {
    p.leave_acked = true;
    return;
  }
  if (f.body.match_elements<leave_notice>()) {
    if (std::exchange(p.leaving, true)) return;
    p.leave_ack_due = true;
    election_.leaving(f.from.node, p.incarnation);
    update_scheduler_state();
    env_.models.remove_node(f.from.node);
    env_.post.broadcast(node_leaving{f.from.node, p.incarnation});
    update_ready();
    check_leader();
  }
}

std::optional<rejection> refuse_stranger(const cluster_spec& cluster, node_id self, const hello& h) {
  const auto& name = cluster.nodes[self.value].name;
  if (h.version != version)
    return rejection{self,
                     h.incarnation,
                     {},
                     rejection_reason::other_version,
                     "node '" + name + "' runs version " + std::string(version) + ", this one " + h.version};
  if (h.cluster_hash != cluster.hash)
    return rejection{self,
                     h.incarnation,
                     {},
                     rejection_reason::other_file,
                     "node '" + name + "' was started with another cluster file (hash " + cluster.hash +
                         ", this one " + h.cluster_hash + ")"};
  return {};
}

void node::on_hello(const address& from, const hello& h) {
  if (auto no = refuse_stranger(env_.cluster, env_.self, h)) return send(from.node, std::move(*no));
  learn_leader(h.leader);
  auto& p = peers_[from.node.value];
  if (p.incarnation == h.incarnation && p.state != stage::unknown) return;
  if (!detector_.on_heartbeat(from.node, h.incarnation, env_.time.now())) {
    if (!yields_to(from.node))
      return send(from.node, rejection{env_.self, h.incarnation, detector_.latest(from.node),
                                       rejection_reason::fenced, "this incarnation was declared dead"});
    begin_new_incarnation("lost a senior node");
    detector_.on_heartbeat(from.node, h.incarnation, env_.time.now());
  }
  end_incarnations();  // an earlier incarnation of the peer may just have ended
  auto& fresh = peers_[from.node.value];
  fresh = {};
  fresh.state = stage::connecting;
  fresh.incarnation = h.incarnation;
  fresh.connected_at = env_.time.now();
  env_.lane.connect(from.node, h.incarnation, h.secret, h.data_address);
  send_hello(from.node);
}

void node::on_rejection(const rejection& r) {
  if (r.incarnation != incarnation_) return;  // of an earlier incarnation: already known
  if (r.reason == rejection_reason::fenced) {
    incarnation_ = std::max(incarnation_, r.known);
    return begin_new_incarnation("declared dead by a peer");
  }
  if (!met_) return env_.on_refused(r.detail);
  spdlog::error("event=refused node={} reason=\"{}\"", env_.cluster.nodes[r.node.value].name, r.detail);
}

void node::on_synchronised(node_id id, incarnation_id incarnation) {
  auto& p = peers_[id.value];
  if (p.state != stage::connecting || p.incarnation != incarnation) return;
  p.state = stage::up;
  met_ = true;
  election_.up(id, incarnation);
  if (p.leaving) election_.leaving(id, incarnation);
  update_scheduler_state();
  spdlog::info("event=node_up node={} incarnation={}", env_.cluster.nodes[id.value].name, incarnation.value);
  env_.post.broadcast(node_up{id, incarnation});
  caf::anon_send(env_.deployments, peer_change{id, incarnation, true});
  if (draining_)
    send(id, leave_notice{env_.self, incarnation_});
  else
    for (const auto& s : local_slots_) send(id, s);
  const auto early = std::exchange(p.early, {});
  if (p.leaving)  // its leave_notice came before we knew its clock
    env_.post.broadcast(node_leaving{id, incarnation});
  else
    for (const auto& s : early) accept_slot(s);
  update_ready();
  check_leader();
}

void node::on_peer_slot(const slot_ready& s) {
  auto& p = peers_[s.worker.node.value < peers_.size() ? s.worker.node.value : env_.self.value];
  if (p.incarnation != s.worker.incarnation) return;
  if (p.state == stage::up)
    accept_slot(s);
  else
    p.early.push_back(s);
}

void node::on_local_slot(slot_ready s) {
  s.worker.incarnation = incarnation_;
  std::erase_if(local_slots_, [&](const slot_ready& known) { return known.slot == s.slot; });
  local_slots_.push_back(s);
  accept_slot(s);
  if (draining_) return;
  for (uint32_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].state == stage::up) send(node_id{i}, s);
}

void node::on_deployments(const deployment_log& log) {
  for (const auto& line : log.models) {
    const bool open = line.wanted == deployment_state::deployed;
    if (!open) env_.models.close(line.model);
    env_.post.broadcast(model_change{line});
    // A queue that begins now must know what was there before it: slots, and the term.
    if (env_.on_queue(line)) {
      for (const auto& s : env_.models.slots()) env_.post.broadcast(s);
      if (elected_) env_.post.broadcast(election_.known());
    }
    const auto& m = line.definition;
    if (open) env_.models.open({line.model, m.name, m.slo, m.max_batch, {}, 0});
  }
  update_ready();
}

/// After what the slots have, which was said before: a queue that goes over to another domain because all
/// have done their parts must know the slots there.
void node::pass_on(const deployment_report& r) {
  if (peers_[scheduler_.value].state != stage::up) return;
  env_.control.send({{env_.self, incarnation_, role::deployer, 0},
                     {scheduler_, {}, role::deployer, 0},
                     caf::make_message(r)});
}

void node::accept_slot(const slot_ready& s) {
  env_.models.add(s);
  env_.post.broadcast(s);
  update_ready();
}

void node::on_lost(const peer_lost& l) {
  auto& p = peers_[l.node.value];
  if (p.state == stage::unknown || p.incarnation != l.incarnation) return;
  p.broke = true;
  spdlog::log(p.leaving ? spdlog::level::info : spdlog::level::warn,
              "event=connection_lost node={} reason=\"{}\"", env_.cluster.nodes[l.node.value].name, l.why);
  detector_.lost(l.node, l.incarnation);
  end_incarnations();
}

/// Says of every incarnation that has just ended that it is over, once.
void node::end_incarnations() {
  std::vector<failure_detector::death> deaths;
  detector_.take_dead_nodes(deaths);
  for (const auto& d : deaths) {
    auto& p = peers_[d.peer.value];
    if (p.incarnation != d.incarnation || p.state == stage::unknown) continue;
    spdlog::log(p.leaving ? spdlog::level::info : spdlog::level::warn,
                "event=node_down node={} incarnation={}", env_.cluster.nodes[d.peer.value].name,
                d.incarnation.value);
    const bool crashed = p.broke && !p.leaving;
    p = {};
    env_.lane.disconnect(d.peer, d.incarnation);
    election_.down(d.peer, d.incarnation);
    update_scheduler_state();
    env_.models.remove_node(d.peer);
    env_.post.broadcast(node_down{d.peer, d.incarnation, crashed});
    caf::anon_send(env_.deployments, peer_change{d.peer, d.incarnation, false});
    update_ready();
  }
  if (!deaths.empty()) check_leader();
}

void node::begin_new_incarnation(const char* why) {
  incarnation_ = env_.next_incarnation(incarnation_);
  spdlog::warn("event=new_incarnation node={} incarnation={} reason=\"{}\"",
               env_.cluster.nodes[env_.self.value].name, incarnation_.value, why);
  env_.lane.renew(incarnation_, env_.secret_of(incarnation_));
  env_.on_new_incarnation(incarnation_);
  for (auto& p : peers_) p = {};
  detector_ = failure_detector(env_.cluster.limits.node_timeout);
  election_.begin(incarnation_, env_.time.now());
  env_.models.clear();
  update_scheduler_state();
  env_.post.broadcast(new_incarnation{incarnation_});
  caf::anon_send(env_.deployments, new_incarnation{incarnation_});
  env_.post.broadcast(node_up{env_.self, incarnation_});
  const auto slots = std::move(local_slots_);
  local_slots_.clear();
  for (const auto& s : slots) on_local_slot(s);
  next_hello_ = long_ago;
  update_ready();
}

void node::notice_freeze(time_point now) {
  if (last_wake_ == never || now - last_wake_ <= env_.cluster.limits.node_timeout) return;
  last_wake_ = now;
  begin_new_incarnation("was frozen");
}

void node::on_wake() {
  const auto now = env_.time.now();
  const auto& limits = env_.cluster.limits;
  notice_freeze(now);
  last_wake_ = now;
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    const auto& p = peers_[i];
    if (p.state == stage::unknown) continue;
    auto heard = std::max(env_.lane.last_heard(node_id{i}), p.connected_at);
    // The wire-up of a transport takes longer than a heartbeat, most of all while all nodes load their
    // models.
    if (p.state == stage::connecting && now < p.connected_at + 5 * limits.node_timeout) heard = now;
    detector_.on_heartbeat(node_id{i}, p.incarnation, heard);
  }
  detector_.advance(now);
  end_incarnations();
  check_leader();
  update_ready();
  report_forged(now);
  if (now >= next_hello_) {
    next_hello_ = now + 1s;
    for (uint32_t i = 0; i < peers_.size(); ++i)
      if (node_id{i} != env_.self) send_hello(node_id{i});
  }
  const bool owes = std::any_of(peers_.begin(), peers_.end(), [](const peer& p) { return p.leave_ack_due; });
  if (draining_ && now >= drain_until_)
    env_.on_drained();
  else if ((draining_ || owes) && reports_missing_ == 0)
    ask_caf_hosts();
  env_.wake(caf::actor_cast<caf::actor>(self_), now + wake_interval());
}

/// Somebody reached the data lane who was never told this incarnation's secret. Once a second at most.
void node::report_forged(time_point now) {
  const uint64_t forged = env_.lane.stats().forged;
  if (forged == forged_ || now < forged_reported_ + 1s) return;
  spdlog::warn(
      "event=forged_frames node={} count={} reason=\"data-lane frames without this incarnation's secret\"",
      env_.cluster.nodes[env_.self.value].name, forged - forged_);
  forged_ = forged;
  forged_reported_ = now;
}

void node::send_hello(node_id to) {
  hello h{env_.self,           incarnation_,       env_.cluster.hash, std::string(version),
          env_.data_address(), env_.lane.secret(), election_.known()};
  send(to, std::move(h));
}

void node::send_to_peers(caf::message body) {
  for (uint32_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].state == stage::up)
      env_.control.send({{env_.self, incarnation_, role::node, 0}, {node_id{i}, {}, role::node, 0}, body});
}

void node::update_ready() {
  ready_ = env_.models.serving() && env_.serves_llms();
  for (uint32_t i = 0; i < peers_.size(); ++i)
    ready_ = ready_ && (node_id{i} == env_.self || peers_[i].state == stage::up);
  if (ready_ == ready_sent_) return;
  ready_sent_ = ready_;
  env_.on_ready(ready_);
}

}  // namespace troupe
