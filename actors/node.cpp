#include "actors/node.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <caf/all.hpp>
#include <utility>

#include "messages/version.hpp"

namespace troupe {

node::node(handle::pointer self, surroundings s)
    : self_(self),
      around_(std::move(s)),
      incarnation_(around_.lane.incarnation()),
      peers_(around_.cluster.nodes.size()),
      elected_(has_standby(around_.cluster)),
      election_({around_.self, leader_candidates(around_.cluster), around_.cluster.nodes.size(),
                 around_.cluster.limits.takeover, around_.cluster.limits.node_timeout}),
      scheduler_(scheduler_of(around_.cluster)),
      detector_(around_.cluster.limits.node_timeout) {
  election_.begin(incarnation_, around_.time.now());
  look_for_scheduler();
}

node::handle::behavior_type node::make_behavior() {
  report_exceptions(*self_, around_.broken);
  around_.post.tell_all(node_up{around_.self, incarnation_});
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
            drain_until_ = around_.time.now() + around_.cluster.limits.drain_timeout;
            election_.drain();
            around_.post.tell_all(drain{});
            tell_peers(caf::make_message(leave_notice{around_.self, incarnation_}));
            spdlog::info("event=drain node={}", around_.cluster.nodes[around_.self.value].name);
          }};
}

void node::on_frame(const control_frame& f) {
  if (f.from.node.value >= peers_.size() || f.from.node == around_.self) return;
  notice_freeze(
      around_.time.now());  // or its next hello would be that of an incarnation which is over for its peers
  if (f.body.match_elements<hello>()) return on_hello(f.from, f.body.get_as<hello>(0));
  if (f.body.match_elements<rejection>()) return on_rejection(f.body.get_as<rejection>(0));
  // All else only from the incarnation that we know, to the incarnation that we are.
  auto& p = peers_[f.from.node.value];
  if (p.state == stage::unknown || p.incarnation != f.from.incarnation) return;
  if (f.to.incarnation != incarnation_id{} && f.to.incarnation != incarnation_) return;
  if (f.to.kind == role::deployer) return caf::anon_send(around_.deployments, f);
  if (f.body.match_elements<slot_ready>()) return on_peer_slot(f.body.get_as<slot_ready>(0));
  if (f.body.match_elements<leave_ack>()) {
    p.leave_acked = true;
    return;
  }
  if (f.body.match_elements<leave_notice>()) {
    if (std::exchange(p.leaving, true)) return;
    p.leave_ack_due = true;
    election_.leaving(f.from.node, p.incarnation);
    look_for_scheduler();
    around_.models.remove_node(f.from.node);
    around_.post.tell_all(node_leaving{f.from.node, p.incarnation});
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
  if (auto no = refuse_stranger(around_.cluster, around_.self, h)) return send(from.node, std::move(*no));
  learn_leader(h.leader);
  auto& p = peers_[from.node.value];
  if (p.incarnation == h.incarnation && p.state != stage::unknown) return;
  if (!detector_.heard(from.node, h.incarnation, around_.time.now())) {
    if (!junior_to(from.node))
      return send(from.node, rejection{around_.self, h.incarnation, detector_.latest(from.node),
                                       rejection_reason::fenced, "this incarnation was declared dead"});
    begin_new_incarnation("lost a senior node");
    detector_.heard(from.node, h.incarnation, around_.time.now());
  }
  end_incarnations();  // an earlier incarnation of the peer may just have ended
  auto& fresh = peers_[from.node.value];
  fresh = {};
  fresh.state = stage::meeting;
  fresh.incarnation = h.incarnation;
  fresh.connected_at = around_.time.now();
  around_.lane.connect(from.node, h.incarnation, h.secret, h.data_address);
  say_hello(from.node);
}

void node::on_rejection(const rejection& r) {
  if (r.incarnation != incarnation_) return;  // of an earlier incarnation: already known
  if (r.reason == rejection_reason::fenced) {
    incarnation_ = std::max(incarnation_, r.known);
    return begin_new_incarnation("declared dead by a peer");
  }
  if (!met_) return around_.on_refused(r.detail);
  spdlog::error("event=refused node={} reason=\"{}\"", around_.cluster.nodes[r.node.value].name, r.detail);
}

void node::on_synchronised(node_id id, incarnation_id incarnation) {
  auto& p = peers_[id.value];
  if (p.state != stage::meeting || p.incarnation != incarnation) return;
  p.state = stage::up;
  met_ = true;
  election_.up(id, incarnation);
  if (p.leaving) election_.leaving(id, incarnation);
  look_for_scheduler();
  spdlog::info("event=node_up node={} incarnation={}", around_.cluster.nodes[id.value].name,
               incarnation.value);
  around_.post.tell_all(node_up{id, incarnation});
  caf::anon_send(around_.deployments, peer_change{id, incarnation, true});
  if (draining_)
    send(id, leave_notice{around_.self, incarnation_});
  else
    for (const auto& s : local_slots_) send(id, s);
  const auto early = std::exchange(p.early, {});
  if (p.leaving)  // its leave_notice came before we knew its clock
    around_.post.tell_all(node_leaving{id, incarnation});
  else
    for (const auto& s : early) accept_slot(s);
  update_ready();
  check_leader();
}

void node::on_peer_slot(const slot_ready& s) {
  auto& p = peers_[s.worker.node.value < peers_.size() ? s.worker.node.value : around_.self.value];
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
    if (!open) around_.models.close(line.model);
    around_.post.tell_all(model_change{line});
    // A queue that begins now must know what was there before it: slots, and the term.
    if (around_.on_queue(line)) {
      for (const auto& s : around_.models.slots()) around_.post.tell_all(s);
      if (elected_) around_.post.tell_all(election_.known());
    }
    const auto& m = line.definition;
    if (open) around_.models.open({line.model, m.name, m.slo, m.max_batch, {}, 0});
  }
  update_ready();
}

/// After what the slots have, which was said before: a queue that goes over to another domain because all
/// have done their parts must know the slots there.
void node::pass_on(const deployment_report& r) {
  if (peers_[scheduler_.value].state != stage::up) return;
  around_.control.send({{around_.self, incarnation_, role::deployer, 0},
                        {scheduler_, {}, role::deployer, 0},
                        caf::make_message(r)});
}

void node::accept_slot(const slot_ready& s) {
  around_.models.add(s);
  around_.post.tell_all(s);
  update_ready();
}

void node::on_lost(const peer_lost& l) {
  auto& p = peers_[l.node.value];
  if (p.state == stage::unknown || p.incarnation != l.incarnation) return;
  p.broke = true;
  spdlog::log(p.leaving ? spdlog::level::info : spdlog::level::warn,
              "event=connection_lost node={} reason=\"{}\"", around_.cluster.nodes[l.node.value].name, l.why);
  detector_.lost(l.node, l.incarnation);
  end_incarnations();
}

/// Says of every incarnation that has just ended that it is over, once.
void node::end_incarnations() {
  std::vector<failure_detector::death> deaths;
  detector_.take_deaths(deaths);
  for (const auto& d : deaths) {
    auto& p = peers_[d.peer.value];
    if (p.incarnation != d.incarnation || p.state == stage::unknown) continue;
    spdlog::log(p.leaving ? spdlog::level::info : spdlog::level::warn,
                "event=node_down node={} incarnation={}", around_.cluster.nodes[d.peer.value].name,
                d.incarnation.value);
    const bool crashed = p.broke && !p.leaving;
    p = {};
    around_.lane.disconnect(d.peer, d.incarnation);
    election_.down(d.peer, d.incarnation);
    look_for_scheduler();
    around_.models.remove_node(d.peer);
    around_.post.tell_all(node_down{d.peer, d.incarnation, crashed});
    caf::anon_send(around_.deployments, peer_change{d.peer, d.incarnation, false});
    update_ready();
  }
  if (!deaths.empty()) check_leader();
}

void node::begin_new_incarnation(const char* why) {
  incarnation_ = around_.next_incarnation(incarnation_);
  spdlog::warn("event=new_incarnation node={} incarnation={} reason=\"{}\"",
               around_.cluster.nodes[around_.self.value].name, incarnation_.value, why);
  around_.lane.renew(incarnation_, around_.secret_of(incarnation_));
  around_.on_new_incarnation(incarnation_);
  for (auto& p : peers_) p = {};
  detector_ = failure_detector(around_.cluster.limits.node_timeout);
  election_.begin(incarnation_, around_.time.now());
  around_.models.clear();
  look_for_scheduler();
  around_.post.tell_all(new_incarnation{incarnation_});
  caf::anon_send(around_.deployments, new_incarnation{incarnation_});
  around_.post.tell_all(node_up{around_.self, incarnation_});
  const auto slots = std::move(local_slots_);
  local_slots_.clear();
  for (const auto& s : slots) on_local_slot(s);
  next_hello_ = long_ago;
  update_ready();
}

void node::notice_freeze(time_point now) {
  if (last_wake_ == never || now - last_wake_ <= around_.cluster.limits.node_timeout) return;
  last_wake_ = now;
  begin_new_incarnation("was frozen");
}

void node::on_wake() {
  const auto now = around_.time.now();
  const auto& limits = around_.cluster.limits;
  notice_freeze(now);
  last_wake_ = now;
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    const auto& p = peers_[i];
    if (p.state == stage::unknown) continue;
    auto heard = std::max(around_.lane.last_heard(node_id{i}), p.connected_at);
    // The wire-up of a transport takes longer than a heartbeat, most of all while all nodes load their
    // models.
    if (p.state == stage::meeting && now < p.connected_at + 5 * limits.node_timeout) heard = now;
    detector_.heard(node_id{i}, p.incarnation, heard);
  }
  detector_.advance(now);
  end_incarnations();
  check_leader();
  update_ready();
  report_forged(now);
  if (now >= next_hello_) {
    next_hello_ = now + 1s;
    for (uint32_t i = 0; i < peers_.size(); ++i)
      if (node_id{i} != around_.self) say_hello(node_id{i});
  }
  const bool owes = std::any_of(peers_.begin(), peers_.end(), [](const peer& p) { return p.leave_ack_due; });
  if (draining_ && now >= drain_until_)
    around_.on_drained();
  else if ((draining_ || owes) && reports_missing_ == 0)
    ask_caf_hosts();
  around_.wake(caf::actor_cast<caf::actor>(self_), now + wake_interval());
}

/// Somebody reached the data lane who was never told this incarnation's secret. Once a second at most.
void node::report_forged(time_point now) {
  const uint64_t forged = around_.lane.stats().forged;
  if (forged == forged_ || now < forged_reported_ + 1s) return;
  spdlog::warn(
      "event=forged_frames node={} count={} reason=\"data-lane frames without this incarnation's secret\"",
      around_.cluster.nodes[around_.self.value].name, forged - forged_);
  forged_ = forged;
  forged_reported_ = now;
}

void node::say_hello(node_id to) {
  hello h{around_.self,           incarnation_,          around_.cluster.hash, std::string(version),
          around_.data_address(), around_.lane.secret(), election_.known()};
  send(to, std::move(h));
}

void node::tell_peers(caf::message body) {
  for (uint32_t i = 0; i < peers_.size(); ++i)
    if (peers_[i].state == stage::up)
      around_.control.send(
          {{around_.self, incarnation_, role::node, 0}, {node_id{i}, {}, role::node, 0}, body});
}

void node::update_ready() {
  ready_ = around_.models.serving() && around_.serves_llms();
  for (uint32_t i = 0; i < peers_.size(); ++i)
    ready_ = ready_ && (node_id{i} == around_.self || peers_[i].state == stage::up);
  if (ready_ == told_ready_) return;
  told_ready_ = ready_;
  around_.on_ready(ready_);
}

}  // namespace troupe
