#include "policies/baselines/nexus.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

constexpr backend any_slot{slot_id{~uint32_t{0}}, ~uint32_t{0}, 1};

}  // namespace

nexus::nexus(const batching_parameters& p, shedding rule) : parameters_(p), rule_(rule) {
  backends_.push_back(make(any_slot));
  changed_.push_back(0);
}

nexus::backend_queue nexus::make(const backend& plan) const {
  auto p = parameters_;
  if (plan != any_slot) p.slots = 1;
  return {plan, std::make_unique<nexus_backend>(p, rule_, plan.batch)};
}

/// The backend whose turn it is in weighted round robin.
uint32_t nexus::route() {
  if (backends_.size() == 1) return 0;
  double all = 0;
  uint32_t best = 0;
  for (uint32_t i = 0; i < backends_.size(); ++i) {
    auto& b = backends_[i];
    b.credit += b.plan.weight;
    all += b.plan.weight;
    if (b.credit > backends_[best].credit) best = i;
  }
  backends_[best].credit -= all;
  return best;
}

void nexus::add(const queued_request& t, time_point now) {
  const auto to = route();
  auto& b = backends_[to];
  const auto rows = b.queue->queued_rows();
  const auto requests = b.queue->queued_requests();
  b.queue->add(t, now);
  b.queue->take_dropped(dropped_);  // if it is too large
  rows_ += b.queue->queued_rows() - rows;
  requests_ += b.queue->queued_requests() - requests;
  if (!std::exchange(b.changed, true)) changed_.push_back(to);
}

void nexus::remove_if(const std::function<bool(const queued_request&)>& leaves,
                      std::vector<queued_request>& out) {
  for (uint32_t i = 0; i < backends_.size(); ++i) {
    const auto before = out.size();
    backends_[i].queue->remove_if(leaves, out);
    if (out.size() > before && !std::exchange(backends_[i].changed, true)) changed_.push_back(i);
  }
  count();
}

void nexus::update(time_point now, time_point slot_free_at) {
  if (anywhere_) return update(0, now, slot_free_at);
  if (slot_free_at != long_ago && chosen_ != no_backend) {
    window_ = {};
    if (chosen_ == backends_.size()) return;
    update(chosen_, now, slot_free_at);
    window_ = backends_[chosen_].queue->window();
    return;
  }
  chosen_ = no_backend;
  for (const auto i : changed_) update(i, now, long_ago);
  changed_.clear();
  while (wakes_.best() <= now) update(wakes_.first(), now, long_ago);
  summarise();
}

void nexus::update(uint32_t which, time_point now, time_point slot_free_at) {
  auto& b = backends_[which];
  const auto rows = b.queue->queued_rows();
  const auto requests = b.queue->queued_requests();
  b.queue->update(now, slot_free_at);
  b.queue->take_dropped(dropped_);
  rows_ -= rows - b.queue->queued_rows();
  requests_ -= requests - b.queue->queued_requests();
  if (slot_free_at != long_ago) return;
  b.changed = false;
  b.offered = b.queue->window();
  wakes_.set(which, b.queue->wake_at());
}

void nexus::summarise() {
  window_ = {};
  slots_.clear();
  for (const auto& b : backends_) {
    if (b.offered.rows == 0) continue;
    window_.rows = std::max(window_.rows, b.offered.rows);
    window_.exec_at = std::min(window_.exec_at, b.offered.exec_at);
    window_.latest = std::max(window_.latest, b.offered.latest);
    slots_.push_back(b.plan.slot);
  }
}

batch_window nexus::choose(slot_id slot, const batch_window& offered) {
  if (anywhere_) return offered;
  const auto at = std::find_if(backends_.begin(), backends_.end(),
                               [&](const backend_queue& b) { return b.plan.slot == slot; });
  chosen_ = static_cast<uint32_t>(at - backends_.begin());
  if (chosen_ == backends_.size()) return {};
  auto& b = backends_[chosen_];
  if (!std::exchange(b.changed, true)) changed_.push_back(chosen_);
  return std::exchange(b.offered, {});
}

void nexus::take_batch(std::vector<queued_request>& out) {
  const auto which = anywhere_ ? 0 : chosen_;
  if (which >= backends_.size()) return;
  auto& b = backends_[which];
  b.queue->take_batch(out);
  if (!std::exchange(b.changed, true)) changed_.push_back(which);
  window_ = {};
  count();
}

void nexus::take_dropped(std::vector<dropped_queued_request>& out) {
  out.insert(out.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
}

void nexus::set_latency(const latency_model& latency) {
  parameters_.latency = latency;
  for (auto& b : backends_) b.queue->set_latency(latency);
}

void nexus::set_slots(uint32_t slots) {
  parameters_.slots = slots;
  if (anywhere_) backends_[0].queue->set_slots(slots);
}

double nexus::need() const {
  double sum = 0;
  for (const auto& b : backends_) sum += b.queue->need();
  return sum;
}

void nexus::set_backends(std::span<const backend> of, time_point now) {
  const auto same = [](const backend_queue& a, const backend& b) { return a.plan == b; };
  if (of.empty() ? anywhere_ : std::equal(backends_.begin(), backends_.end(), of.begin(), of.end(), same))
    return;
  std::vector<backend_queue> old = std::exchange(backends_, {});
  anywhere_ = of.empty();
  if (anywhere_) backends_.push_back(make(any_slot));
  for (const auto& plan : of) {
    const auto kept = std::find_if(old.begin(), old.end(), [&](const backend_queue& b) {
      return b.queue != nullptr && b.plan.slot == plan.slot && b.plan != any_slot;
    });
    if (kept == old.end()) {
      backends_.push_back(make(plan));
      continue;
    }
    kept->queue->set_max_batch(plan.batch);
    backends_.push_back({plan, std::move(kept->queue), kept->credit});
  }
  chosen_ = no_backend;
  window_ = {};
  slots_.clear();
  changed_.clear();
  wakes_ = tournament<time_point>(never);
  for (uint32_t i = 0; i < backends_.size(); ++i) changed_.push_back(i);

  std::vector<queued_request> unplaced;
  for (const auto& b : old)
    if (b.queue != nullptr) b.queue->remove_if([](const queued_request&) { return true; }, unplaced);
  std::sort(unplaced.begin(), unplaced.end(), [](const queued_request& a, const queued_request& b) {
    return std::pair(a.deadline, a.id) < std::pair(b.deadline, b.id);
  });
  count();
  for (const auto& t : unplaced) add(t, now);
}

void nexus::count() {
  rows_ = 0;
  requests_ = 0;
  for (const auto& b : backends_) {
    rows_ += b.queue->queued_rows();
    requests_ += b.queue->queued_requests();
  }
}

}  // namespace troupe
