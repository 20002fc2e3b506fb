#include "policies/cluster/peer_table.hpp"

#include <algorithm>

namespace troupe {

peer_table::peer_table(size_t nodes, duration node_timeout)
    : node_timeout_(node_timeout), peers_(nodes), returning_(nodes), detector_(node_timeout) {}

void peer_table::clear() {
  peers_.assign(peers_.size(), {});
  returning_.assign(peers_.size(), {});
  detector_ = failure_detector(node_timeout_);
}

bool peer_table::knows(node_id node, incarnation_id incarnation) const {
  const auto& p = at(node);
  return p.stage != peer_stage::unknown && p.incarnation == incarnation;
}

std::vector<node_id> peer_table::up() const {
  std::vector<node_id> out;
  for (uint32_t i = 0; i < peers_.size(); ++i)
    if (is_up(node_id{i})) out.push_back(node_id{i});
  return out;
}

bool peer_table::insists(node_id node, incarnation_id incarnation, time_point now) {
  auto& r = returning_[node.value];
  if (r.since == never || r.incarnation != incarnation) r = {incarnation, now};
  return now >= r.since + settling_time;
}

bool peer_table::hear(node_id node, incarnation_id incarnation, time_point now) {
  return detector_.on_heartbeat(node, incarnation, now);
}

void peer_table::connect(node_id node, incarnation_id incarnation, time_point now) {
  peers_[node.value] = {peer_stage::connecting, incarnation, now, false, false, false, {}};
}

bool peer_table::synchronise(node_id node, incarnation_id incarnation) {
  auto& p = peers_[node.value];
  if (p.stage != peer_stage::connecting || p.incarnation != incarnation) return false;
  p.stage = peer_stage::up;
  p.silent = false;
  return true;
}

void peer_table::lose(node_id node, incarnation_id incarnation) {
  peers_[node.value].broken = true;
  detector_.lost(node, incarnation);
}

void peer_table::forget(node_id node) {
  peers_[node.value] = {};
  detector_.forget(node);
}

void peer_table::check(time_point now, const std::function<time_point(node_id)>& last_heard) {
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    auto& p = peers_[i];
    if (p.stage == peer_stage::unknown) continue;
    auto heard = std::max(last_heard(node_id{i}), p.connected_at);
    p.silent = p.stage == peer_stage::connecting && now >= p.connected_at + 4 * node_timeout_ &&
               now >= heard + node_timeout_;
    // The wire-up of a transport takes longer than a heartbeat, most of all while all nodes load their
    // models.
    if (p.stage == peer_stage::connecting && now < p.connected_at + 5 * node_timeout_) heard = now;
    detector_.on_heartbeat(node_id{i}, p.incarnation, heard);
  }
  detector_.advance(now);
}

std::vector<peer_table::ended_peer> peer_table::take_ended() {
  std::vector<failure_detector::death> deaths;
  detector_.take_dead_nodes(deaths);
  std::vector<ended_peer> out;
  for (const auto& d : deaths) {
    if (!knows(d.peer, d.incarnation)) continue;
    auto& p = peers_[d.peer.value];
    out.push_back({d.peer, d.incarnation, p.leaving, p.broken, p.silent});
    p = {};
  }
  return out;
}

bool peer_table::take_slot(const slot_ready& s) {
  const auto node = s.worker.node;
  if (node.value >= peers_.size() || !knows(node, s.worker.incarnation)) return false;
  if (is_up(node)) return true;
  peers_[node.value].early.push_back(s);
  return false;
}

}  // namespace troupe
