#include "policies/cluster/node_drain.hpp"

#include <algorithm>

namespace troupe {

bool node_drain::begin(time_point until) {
  if (std::exchange(draining_, true)) return false;
  until_ = until;
  return true;
}

bool node_drain::under_way() const {
  return draining_ ||
         std::any_of(peers_.begin(), peers_.end(), [](const peer_state& p) { return p.ack_due; });
}

void node_drain::begin_round(size_t reports) {
  unfinished_ = 0;
  busy_with_.clear();
  for (auto& p : peers_) p.in_round = p.ack_due;
  reports_missing_ = reports;
}

bool node_drain::on_report(size_t unfinished, const std::vector<node_id>& busy_with) {
  if (reports_missing_ == 0) return false;
  unfinished_ += unfinished;
  busy_with_.insert(busy_with_.end(), busy_with.begin(), busy_with.end());
  return --reports_missing_ == 0;
}

std::vector<node_id> node_drain::take_acks(const std::vector<node_id>& up) {
  std::vector<node_id> out;
  for (const auto n : up) {
    auto& p = peers_[n.value];
    if (!p.ack_due || !p.in_round) continue;
    if (std::find(busy_with_.begin(), busy_with_.end(), n) != busy_with_.end()) continue;
    p.ack_due = false;
    out.push_back(n);
  }
  return out;
}

bool node_drain::may_leave(const std::vector<node_id>& up) const {
  return draining_ && unfinished_ == 0 &&
         std::all_of(up.begin(), up.end(), [&](node_id n) { return peers_[n.value].acked; });
}

}  // namespace troupe
