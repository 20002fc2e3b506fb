#include "policies/batching/shape_classes.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

shape_classes::shape_classes(const batching_parameters& p, factory make)
    : parameters_(p),
      make_(std::move(make)),
      max_latency_(p.max_learned_latency),
      rest_latency_(max_latency_) {
  if (learns()) parameters_.latency = learned_profile(max_latency_).latency();
  rest_ = this->make(true, learns() ? rest_latency_.latency() : parameters_.latency);
  note_latencies();
}

std::unique_ptr<batching_policy> shape_classes::make(bool alone, const latency_model& latency) const {
  auto p = parameters_;
  p.alone = alone;
  p.latency = latency;
  auto made = make_(p);
  made->set_load(load_);
  return made;
}

template <class F>
void shape_classes::for_each(F&& use) const {
  for (const auto& c : classes_) use(*c.policy);
  use(*rest_);
}

/// Of the shape's class, which is made if there is a place for it; else of the rest.
batching_policy& shape_classes::policy_for(uint64_t shape) {
  ++arrivals_;
  if (auto own = std::ranges::find(classes_, shape, &shape_class::shape); own != classes_.end()) {
    own->used_at = arrivals_;
    return *own->policy;
  }
  auto* place = classes_.size() < max_classes ? &classes_.emplace_back() : least_used();
  if (place == nullptr) return *rest_;
  *place = {shape, make(false, parameters_.latency), learned_profile(max_latency_), arrivals_};
  note_latencies();
  return *place->policy;
}

/// Of the classes without requests, which ends; null: all have some.
shape_classes::shape_class* shape_classes::least_used() {
  shape_class* out = nullptr;
  for (auto& c : classes_)
    if (c.policy->queued_requests() == 0 && (out == nullptr || c.used_at < out->used_at)) out = &c;
  if (out == nullptr) return nullptr;
  if (next_ == out->policy.get()) close_window();
  out->policy->take_dropped(dropped_);
  return out;
}

void shape_classes::add(const queued_request& t, time_point now) {
  auto& policy = policy_for(t.shape_class);
  if (&policy == rest_.get() && learns()) {
    rest_latency_.arrive();
    policy.set_latency(rest_latency_.latency());
    note_latencies();
  }
  policy.add(t, now);
  if (&policy == next_) window_ = policy.window();
}

void shape_classes::remove_if(const std::function<bool(const queued_request&)>& leaves,
                              std::vector<queued_request>& out) {
  for_each([&](auto& p) { p.remove_if(leaves, out); });
  if (next_ != nullptr) window_ = next_->window();
}

void shape_classes::update(time_point now, time_point slot_free_at) {
  close_window();
  for_each([&](auto& p) {
    p.update(now, slot_free_at);
    const auto& w = p.window();
    if (w.rows == 0) return;
    if (next_ != nullptr && std::pair(w.exec_at, w.latest) >= std::pair(window_.exec_at, window_.latest))
      return;
    next_ = &p;
    window_ = w;
  });
}

time_point shape_classes::wake_at() const {
  auto out = never;
  for_each([&](auto& p) { out = std::min(out, p.wake_at()); });
  return out;
}

void shape_classes::take_batch(std::vector<queued_request>& out) {
  if (next_ != nullptr) next_->take_batch(out);
  close_window();
}

void shape_classes::take_dropped(std::vector<dropped_queued_request>& out) {
  out.insert(out.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
  for_each([&](auto& p) { p.take_dropped(out); });
}

uint32_t shape_classes::queued_rows() const {
  uint32_t sum = 0;
  for_each([&](auto& p) { sum += p.queued_rows(); });
  return sum;
}

size_t shape_classes::queued_requests() const {
  size_t sum = 0;
  for_each([&](auto& p) { sum += p.queued_requests(); });
  return sum;
}

latency_model shape_classes::latency_of(uint64_t shape) const {
  const auto own = std::ranges::find(classes_, shape, &shape_class::shape);
  return own != classes_.end() ? own->policy->latency() : rest_->latency();
}

void shape_classes::set_latency(const latency_model& latency) {
  if (learns()) return;
  parameters_.latency = latency;
  for_each([&](auto& p) { p.set_latency(latency); });
  note_latencies();
}

void shape_classes::set_slots(uint32_t slots) {
  parameters_.slots = slots;
  for_each([&](auto& p) { p.set_slots(slots); });
}

void shape_classes::learn(const batch_sample& s) {
  if (!learns()) return;
  if (const auto own = std::ranges::find(classes_, s.shape_class, &shape_class::shape);
      own != classes_.end()) {
    own->profile.add(s.rows, s.took);
    own->policy->set_latency(own->profile.latency());
  } else {
    rest_latency_.add(s.bytes, s.took);
    rest_->set_latency(rest_latency_.latency());
  }
  note_latencies();
}

duration shape_classes::lead() const {
  auto out = duration{};
  for_each([&](auto& p) { out = std::max(out, p.lead()); });
  return out;
}

double shape_classes::need() const {
  double sum = 0;
  for_each([&](auto& p) { sum += p.need(); });
  return sum;
}

void shape_classes::set_load(double load) {
  load_ = load;
  for_each([&](auto& p) { p.set_load(load); });
}

void shape_classes::set_backends(std::span<const backend> all, time_point now) {
  for_each([&](auto& p) { p.set_backends(all, now); });
}

std::span<const slot_id> shape_classes::slots() const {
  return next_ == nullptr ? std::span<const slot_id>() : next_->slots();
}

batch_window shape_classes::choose(slot_id s, const batch_window& offered) {
  return next_ == nullptr ? offered : next_->choose(s, offered);
}

void shape_classes::close_window() {
  next_ = nullptr;
  window_ = {};
}

void shape_classes::note_latencies() {
  slowest_ = rest_->latency();
  for (const auto& c : classes_)
    if (c.policy->latency()(1) > slowest_(1)) slowest_ = c.policy->latency();
}

}  // namespace troupe
