#include "policies/cluster/failure_detector.hpp"

#include <algorithm>

namespace troupe {

bool failure_detector::on_heartbeat(node_id peer, incarnation_id incarnation, time_point at) {
  auto& p = state_of(peer);
  if (incarnation < p.incarnation || incarnation == incarnation_id{} ||
      (incarnation == p.incarnation && !p.alive))
    return false;
  if (incarnation > p.incarnation) {
    if (p.alive) end(peer, p);
    p = {incarnation, true, at};
  }
  p.heard_at = std::max(p.heard_at, at);
  return true;
}

void failure_detector::lost(node_id peer, incarnation_id incarnation) {
  auto& p = state_of(peer);
  if (incarnation < p.incarnation || incarnation == incarnation_id{} ||
      (incarnation == p.incarnation && !p.alive))
    return;
  if (p.alive) end(peer, p);
  if (incarnation > p.incarnation) {  // it ended before its first heartbeat
    p.incarnation = incarnation;
    end(peer, p);
  }
}

void failure_detector::forget(node_id peer) {
  auto& p = state_of(peer);
  p = {incarnation_id{p.incarnation.value - 1}, false, long_ago};  // earlier ones have ended
}

void failure_detector::advance(time_point now) {
  for (uint32_t i = 0; i < peers_.size(); ++i) {
    auto& p = peers_[i];
    if (p.alive && now >= p.heard_at + timeout_) end(node_id{i}, p);
  }
}

void failure_detector::take_dead_nodes(std::vector<death>& out) {
  out.insert(out.end(), deaths_.begin(), deaths_.end());
  deaths_.clear();
}

failure_detector::peer_state& failure_detector::state_of(node_id peer) {
  if (peer.value >= peers_.size()) peers_.resize(peer.value + 1);
  return peers_[peer.value];
}

void failure_detector::end(node_id peer, peer_state& p) {
  p.alive = false;
  deaths_.push_back({peer, p.incarnation});
}

}  // namespace troupe
