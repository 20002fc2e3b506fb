// Where a model can run: the slots that have it, those of them that count in its scheduling domain, and the
// backends that are planned for it.
#include <algorithm>

#include "actors/tensor/model_queue.hpp"

namespace troupe {

bool model_queue::has_placement(const grant& g) const {
  const auto at = placements_.find(g.slot);
  return at != placements_.end() && at->second.incarnation == g.worker.incarnation;
}

void model_queue::on_slot(const slot_ready& s) {
  const auto known = placements_.find(s.slot);
  const bool same = known != placements_.end() && known->second.node == s.worker.node &&
                    known->second.incarnation == s.worker.incarnation;
  if (known != placements_.end()) placements_.erase(known);
  for (const auto& m : s.models) {
    if (m.model != options_.model) continue;
    if (!same) admission_ = {};  // its rate was that of others
    placements_[s.slot] = {s.worker.node, s.worker.incarnation, {m.alpha, m.beta}};
  }
  placements_changed_ = true;
}

void model_queue::forget_placements(node_id node, incarnation_id incarnation) {
  const auto gone = std::erase_if(placements_, [&](const auto& p) {
    return p.second.node == node && p.second.incarnation == incarnation;
  });
  if (gone > 0) admission_ = {};
  apply_placements();
}

/// Measured latencies differ between slots: plan with the slowest.
void model_queue::apply_placements() {
  placements_changed_ = false;
  const auto here = [&](const auto& p) { return domain_of(p.first) == domain(); };
  placements_here_ = static_cast<uint32_t>(std::count_if(placements_.begin(), placements_.end(), here));
  if (placements_here_ == 0) return;
  const auto in_service = std::count_if(placements_.begin(), placements_.end(), [&](const auto& p) {
    return here(p) && !out_of_service_.contains(p.first);
  });
  policy_->set_slots(std::max<uint32_t>(1, static_cast<uint32_t>(in_service)));
  if (options_.latency_given) return;
  latency_model slowest;
  for (const auto& [slot, p] : placements_) {
    if (domain_of(slot) != domain()) continue;
    slowest.alpha = std::max(slowest.alpha, p.latency.alpha);
    slowest.beta = std::max(slowest.beta, p.latency.beta);
  }
  policy_->set_latency(slowest);
}

/// Those of another domain count no more, or not yet: its arbiter says so again when it is asked.
void model_queue::on_backends(const address& from, const backends& b, time_point now) {
  if (from.index != domain()) return;
  std::vector<backend> of;
  for (const auto& x : b.of) of.push_back({x.slot, x.batch, x.weight});
  policy_->set_backends(of, now);
}

void model_queue::on_change(const deployment& line, time_point now) {
  if (line.model != options_.model || line.wanted == deployment_state::undeployed) return;
  if (line.domain != domain()) go_over_to(line.domain, now);
  leaves_.reset();
  if (line.leaving == no_domain || line.wanted != deployment_state::deployed) return;
  leaves_ = model_idle{line.model, line.revision, self_};
  left_domain_ = line.leaving;
}

/// Once nothing of it runs in the domain that it leaves.
void model_queue::report_left() {
  if (!leaves_) return;
  for (const auto& [id, batch] : running_)
    if (domain_of(slot_id{batch.worker.index}) == left_domain_) return;
  send(on_node(self_.node, role::deployer), *std::exchange(leaves_, {}));
}

/// A grant of the arbiter of an earlier domain: nothing new is to run there.
void model_queue::decline(const address& arbiter, const grant& g) {
  send(arbiter, occupied{g.model, g.sequence, g.slot, {}, g.free_at, g.alone});
}

}  // namespace troupe
