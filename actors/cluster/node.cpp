#include "actors/cluster/node.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "messages/common/version.hpp"
#include "policies/cluster/hello_check.hpp"

namespace troupe {
node::node(handle::pointer self, environment s)
    : self_(self),
      env_(std::move(s)),
      incarnation_(env_.lane.incarnation()),
      peers_(env_.cluster.nodes.size(), env_.cluster.limits.node_timeout),
      drain_(env_.cluster.nodes.size()),
      scheduler_(env_.cluster, env_.self),
      freezes_(env_.cluster.limits.node_timeout, env_.cluster.limits.heartbeat),
      deaf_(env_.cluster, env_.self) {
  scheduler_.begin(incarnation_, env_.time.now());
  env_.models.set_scheduler_up(scheduler_.available());
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
          // After the slot reports of the deployer: a queue that changes its domain because all parts are
          // done must know the slots there.
          [this](const deployment_report& r) {
            if (peers_.is_up(scheduler_.node())) send(scheduler_.node(), r, role::deployer);
          },
          [this](const peer_synchronised& p) { on_synchronised(p.node, p.incarnation); },
          [this](const peer_lost& l) { on_lost(l); }, [this](const group_report& r) { on_report(r); },
          [this](const report_query& q) { q.reply(report()); },
          [this](const command_query& q) { q.reply(on_command(q.what)); }, [this](wake_atom) { on_wake(); },
          [this](drain_atom) {
            if (!drain_.begin(env_.time.now() + env_.cluster.limits.drain_timeout)) return;
            scheduler_.drain();
            env_.post.broadcast(drain{});
            for (const auto peer : peers_.up()) send(peer, leave_notice{env_.self, incarnation_});
            spdlog::info("event=drain node={}", node_name(env_.cluster, env_.self));
          }};
}

void node::on_frame(const control_frame& f) {
  const auto from = f.from.node;
  if (from.value >= env_.cluster.nodes.size() || from == env_.self) return;
  // Before the next hello, which would name an incarnation that has ended for the peers.
  if (freezes_.was_frozen(env_.time.now())) begin_new_incarnation("was frozen");
  if (f.body.match_elements<hello>()) return on_hello(f, f.body.get_as<hello>(0));
  if (f.body.match_elements<rejection>()) return on_rejection(f.body.get_as<rejection>(0));
  // All else only from the known incarnation of the peer, and to the current one of this node.
  if (!peers_.knows(from, f.from.incarnation)) return;
  if (f.to.incarnation != incarnation_id{} && f.to.incarnation != incarnation_) return;
  if (f.to.kind == role::deployer) return caf::anon_send(env_.deployments, f);
  if (f.body.match_elements<slot_ready>()) {
    const auto& s = f.body.get_as<slot_ready>(0);
    if (peers_.take_slot(s)) accept_slot(s);
  } else if (f.body.match_elements<leave_ack>()) {
    drain_.on_ack(from);
  } else if (f.body.match_elements<leave_notice>()) {
    if (!peers_.leave(from)) return;
    drain_.on_notice(from);
    scheduler_.leaving(from, f.from.incarnation);
    env_.models.remove_node(from);
    env_.post.broadcast(node_leaving{from, f.from.incarnation});
    update_ready();
    check_leader();
  }
}

void node::on_hello(const control_frame& f, const hello& h) {
  const auto& from = f.from;
  if (auto no = check_hello(env_.cluster, env_.self, h)) return send(from.node, std::move(*no));
  const bool known = peers_.knows(from.node, h.incarnation);
  // Only a peer that has heard of this incarnation connects, and teaches its leader. Without that, the hello
  // may have waited on a control connection that broke while this node was frozen, and its leader may be a
  // candidate that was isolated and has ended: nobody else has heard of that term.
  if (!known && f.to.incarnation != incarnation_) return send_hello(from.node, h.incarnation);
  const bool current = on_leader_of(h);
  if (known) return scheduler_.heard_of(from.node, h.leader, h.scheduler_up);
  const auto now = env_.time.now();
  if (!peers_.hear(from.node, h.incarnation, now)) {
    if (!scheduler_.settles(from.node, peers_.nodes_up()) && !peers_.insists(from.node, h.incarnation, now))
      return;
    if (!scheduler_.yields_to(from.node, h.scheduler_up && current))
      return send(from.node, rejection{env_.self, h.incarnation, peers_.latest(from.node),
                                       rejection_reason::fenced, "this incarnation was declared dead"});
    begin_new_incarnation("lost contact with a node that it yields to");
    peers_.hear(from.node, h.incarnation, now);
  }
  end_incarnations();  // an earlier incarnation of the peer may just have ended
  peers_.connect(from.node, h.incarnation, now);
  drain_.forget(from.node);
  env_.lane.connect(from.node, h.incarnation, h.secret, h.data_address);
  send_hello(from.node, h.incarnation);
}

/// Learns of the leader that the sender knows. False: that leader has ended, and the leader of this node
/// stays.
bool node::on_leader_of(const hello& h) {
  const auto& l = h.leader;
  const bool ended = peers_.has_ended(l.scheduler, l.incarnation) ||
                     (l.scheduler == h.node && l.incarnation < h.incarnation);
  if (scheduler_.accepts(l, ended, peers_.knows(h.node, h.incarnation), peers_.nodes_up())) {
    learn_leader(l);
    return true;
  }
  if (const auto stays = scheduler_.overrule(l)) {
    learn_leader(*stays);
    send_hello(h.node, h.incarnation);
  }
  return false;
}

void node::on_rejection(const rejection& r) {
  if (r.incarnation != incarnation_) return;  // of an earlier incarnation: already known
  if (r.reason == rejection_reason::fenced) {
    incarnation_ = std::max(incarnation_, r.known);
    return begin_new_incarnation("declared dead by a peer");
  }
  if (!met_) return env_.on_refused(r.detail);
  spdlog::error("event=refused node={} reason=\"{}\"", node_name(env_.cluster, r.node), r.detail);
}

void node::on_synchronised(node_id id, incarnation_id incarnation) {
  if (!peers_.synchronise(id, incarnation)) return;
  const bool leaving = peers_.at(id).leaving;  // its leave_notice came before the clocks were known
  met_ = true;
  deaf_.heard(id);
  scheduler_.up(id, incarnation);
  if (leaving) scheduler_.leaving(id, incarnation);
  spdlog::info("event=node_up node={} incarnation={}", node_name(env_.cluster, id), incarnation.value);
  env_.post.broadcast(node_up{id, incarnation});
  caf::anon_send(env_.deployments, peer_change{id, incarnation, true});
  if (drain_.draining())
    send(id, leave_notice{env_.self, incarnation_});
  else
    for (const auto& s : local_slots_) send(id, s);
  const auto early = peers_.take_early_slots(id);
  if (leaving)
    env_.post.broadcast(node_leaving{id, incarnation});
  else
    for (const auto& s : early) accept_slot(s);
  update_ready();
  check_leader();
}

void node::on_local_slot(slot_ready s) {
  s.worker.incarnation = incarnation_;
  std::erase_if(local_slots_, [&](const slot_ready& known) { return known.slot == s.slot; });
  local_slots_.push_back(s);
  accept_slot(s);
  if (drain_.draining()) return;
  for (const auto peer : peers_.up()) send(peer, s);
}

void node::on_deployments(const deployment_log& log) {
  for (const auto& line : log.models) {
    const bool open = line.wanted == deployment_state::deployed;
    if (!open)
      env_.models.close(line.model, {line.definition.name, line.wanted == deployment_state::retiring});
    env_.post.broadcast(model_change{line});
    // A queue that begins now must know the state from before it: slots, and the term.
    if (env_.on_queue(line)) {
      for (const auto& s : env_.models.slots()) env_.post.broadcast(s);
      if (scheduler_.elected()) env_.post.broadcast(scheduler_.election().known());
    }
    const auto& m = line.definition;
    if (open) env_.models.open({line.model, m.name, m.slo, m.max_batch, {}, 0, true, m.images, m.runs_by()});
  }
  update_ready();
}

void node::accept_slot(const slot_ready& s) {
  env_.models.add(s);
  env_.post.broadcast(s);
  update_ready();
}

void node::on_lost(const peer_lost& l) {
  if (!peers_.knows(l.node, l.incarnation)) return;
  spdlog::log(peers_.at(l.node).leaving ? spdlog::level::info : spdlog::level::warn,
              "event=connection_lost node={} reason=\"{}\"", node_name(env_.cluster, l.node), l.why);
  if (!peers_.is_up(l.node)) {
    // The hello may have waited behind a freeze of this node, on a connection that broke meanwhile. The peer
    // lives, perhaps, and says hello again. To declare it dead would make it begin a new incarnation.
    env_.lane.disconnect(l.node, l.incarnation);
    return peers_.forget(l.node);
  }
  peers_.lose(l.node, l.incarnation);
  end_incarnations();
}

/// Announces each incarnation that has just ended, once.
void node::end_incarnations() {
  const auto ended = peers_.take_ended();
  for (const auto& p : ended) {
    if (p.silent) deaf_.silent(p.node);
    drain_.forget(p.node);
    spdlog::log(p.leaving ? spdlog::level::info : spdlog::level::warn,
                "event=node_down node={} incarnation={}", node_name(env_.cluster, p.node),
                p.incarnation.value);
    env_.lane.disconnect(p.node, p.incarnation);
    scheduler_.down(p.node, p.incarnation);
    env_.models.remove_node(p.node);
    env_.post.broadcast(node_down{p.node, p.incarnation, p.broken && !p.leaving});
    caf::anon_send(env_.deployments, peer_change{p.node, p.incarnation, false});
    update_ready();
  }
  if (!ended.empty()) check_leader();
}

void node::begin_new_incarnation(const char* why) {
  incarnation_ = env_.next_incarnation(incarnation_);
  spdlog::warn("event=new_incarnation node={} incarnation={} reason=\"{}\"",
               node_name(env_.cluster, env_.self), incarnation_.value, why);
  env_.lane.renew(incarnation_, env_.secret_of(incarnation_));
  env_.on_new_incarnation(incarnation_);
  peers_.clear();
  deaf_.renewed();
  drain_.forget_all();
  scheduler_.begin(incarnation_, env_.time.now());
  env_.models.clear();
  env_.post.broadcast(new_incarnation{incarnation_});
  caf::anon_send(env_.deployments, new_incarnation{incarnation_});
  env_.post.broadcast(node_up{env_.self, incarnation_});
  const auto slots = std::move(local_slots_);
  local_slots_.clear();
  for (const auto& s : slots) on_local_slot(s);
  next_hello_ = long_ago;
  update_ready();
}

void node::on_wake() {
  const auto now = env_.time.now();
  if (freezes_.was_frozen(now)) begin_new_incarnation("was frozen");
  freezes_.awake(now);
  peers_.check(now, [&](node_id n) { return env_.lane.last_heard(n); });
  end_incarnations();
  if (deaf_.deaf(peers_.up())) begin_new_incarnation("nothing arrives from the peers of its host");
  check_leader();
  update_ready();
  if (const auto forged = forged_.take(env_.lane.stats().forged, now))
    spdlog::warn(
        "event=forged_frames node={} count={} reason=\"data-lane frames without this incarnation's secret\"",
        node_name(env_.cluster, env_.self), forged);
  if (now >= next_hello_) {
    next_hello_ = now + 1s;
    for (uint32_t i = 0; i < env_.cluster.nodes.size(); ++i)
      if (node_id{i} != env_.self) send_hello(node_id{i}, peers_.at(node_id{i}).incarnation);
  }
  if (drain_.overdue(now)) {
    env_.on_drained();
  } else if (drain_.needs_round()) {
    drain_.begin_round(env_.post.caf_hosts().size());
    const auto answer = [me = handle{self_}](group_report r) { caf::anon_send(me, std::move(r)); };
    for (const auto& caf_host : env_.post.caf_hosts()) caf::anon_send(caf_host, report_query{answer});
  }
  // A silent peer is noticed a tenth of its timeout late at most. A wake-up costs as much as a request, so
  // there are no more than that, except in the rounds of a drain.
  const auto& l = env_.cluster.limits;
  const auto usual = drain_.under_way() ? l.heartbeat / 4 : std::min(l.heartbeat, l.node_timeout / 10);
  env_.wake(caf::actor_cast<caf::actor>(self_), now + scheduler_.check_interval(usual));
}

void node::on_report(const group_report& r) {
  if (!drain_.on_report(r.unfinished, r.busy_with)) return;
  for (const auto peer : drain_.take_acks(peers_.up())) send(peer, leave_ack{env_.self, incarnation_});
  if (drain_.may_leave(planted(bug::hasty_leave) ? std::vector<node_id>{} : peers_.up())) env_.on_drained();
}

/// The actors of this node are told before any other node, so that messages of other nodes that follow from
/// the news arrive after it.
void node::learn_leader(const leadership& latest) {
  if (!scheduler_.learn(latest, env_.time.now())) return;
  spdlog::info("event=leader_elected node={} scheduler={} term={}", node_name(env_.cluster, env_.self),
               node_name(env_.cluster, latest.scheduler), latest.term.value);
  env_.post.broadcast(latest);
  for (uint32_t i = 0; i < env_.cluster.nodes.size(); ++i)
    if (const auto& p = peers_.at(node_id{i}); p.stage != peer_stage::unknown)
      send_hello(node_id{i}, p.incarnation);
  caf::anon_send(env_.deployments, latest);
  update_ready();
}

/// Pings the leader, and begins the leadership if it is this node's turn.
void node::check_leader() {
  const auto now = env_.time.now();
  if (scheduler_.ping_due(now)) env_.lane.ping_now(scheduler_.node());
  if (const auto latest = scheduler_.decide(now, env_.lane.last_heard(scheduler_.node())))
    learn_leader(*latest);
}

/// `heard_of`: the peer's incarnation that this node has heard of; 0: none.
void node::send_hello(node_id to, incarnation_id heard_of) {
  hello h{env_.self,
          incarnation_,
          env_.cluster.hash,
          std::string(version),
          env_.data_address(),
          env_.lane.secret(),
          scheduler_.election().known(),
          scheduler_.available(),
          engines_of(env_.cluster)};
  env_.control.send({{env_.self, incarnation_, role::node, 0},
                     {to, heard_of, role::node, 0},
                     caf::make_message(std::move(h))});
}

void node::update_ready() {
  env_.models.set_scheduler_up(scheduler_.available());
  const bool ready = env_.models.serving() && env_.serves_llms() && peers_.all_up();
  if (ready != std::exchange(ready_, ready)) env_.on_ready(ready);
}

}  // namespace troupe
