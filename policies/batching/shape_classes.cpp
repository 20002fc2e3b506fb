#include "policies/batching/shape_classes.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

constexpr duration rate_memory = 5s;  // a class without arrivals for so long needs no slots

}  // namespace

shape_classes::shape_classes(const batching_parameters& p, factory make)
    : parameters_(p), make_(std::move(make)), max_latency_(p.max_learned_latency), by_size_(max_latency_) {
  rest_ = this->make(true, latency_of(0));
  set_latencies();
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
batching_policy& shape_classes::policy_for(uint64_t shape, time_point now) {
  ++arrivals_;
  auto own = std::ranges::find(classes_, shape, &shape_class::shape);
  if (own == classes_.end()) {
    auto* place = classes_.size() < max_classes ? &classes_.emplace_back() : least_used();
    if (place == nullptr) return *rest_;
    *place = {shape, make(false, latency_of(shape)), 0, now};
    own = classes_.begin() + (place - classes_.data());
  }
  own->used_at = arrivals_;
  own->arrived_at = now;
  return *own->policy;
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
  now_ = now;
  auto& policy = policy_for(t.shape_class, now);
  policy.add(t, now);
  if (&policy == next_) window_ = policy.window();
}

void shape_classes::remove_if(const std::function<bool(const queued_request&)>& leaves,
                              std::vector<queued_request>& out) {
  for_each([&](auto& p) { p.remove_if(leaves, out); });
  if (next_ != nullptr) window_ = next_->window();
}

void shape_classes::update(time_point now, time_point slot_free_at) {
  now_ = now;
  close_window();
  const auto start = std::max(now, slot_free_at);
  for (const auto& c : classes_) {
    c.policy->update(now, slot_free_at);
    auto w = c.policy->window();
    if (learns() && !knows(c.shape)) w.exec_at = std::min(w.exec_at, start + parameters_.network(w.rows));
    consider(*c.policy, w, start);
  }
  rest_->update(now, slot_free_at);
  consider(*rest_, rest_->window(), start);
}

void shape_classes::consider(batching_policy& p, batch_window w, time_point start) {
  if (w.rows == 0) return;
  const auto rank = [&](const batch_window& x) {
    const bool waits = x.exec_at > start + parameters_.network(x.rows);
    return std::pair(waits, waits ? x.exec_at : x.latest);
  };
  if (next_ != nullptr && rank(w) >= rank(window_)) return;
  next_ = &p;
  window_ = w;
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

bool shape_classes::knows(uint64_t shape) const {
  const auto its = profiles_.find(shape);
  return its != profiles_.end() && its->second.profile.knows();
}

latency_model shape_classes::latency_of(uint64_t shape) const {
  if (!learns()) return parameters_.latency;
  const auto its = profiles_.find(shape);
  if (its == profiles_.end()) return by_size_.latency();
  return its->second.profile.knows() ? its->second.profile.latency() : by_size_.latency_of(its->second.bytes);
}

void shape_classes::set_latency(const latency_model& latency) {
  if (learns()) return;
  parameters_.latency = latency;
  set_latencies();
}

void shape_classes::set_slots(uint32_t slots) {
  parameters_.slots = slots;
  for_each([&](auto& p) { p.set_slots(slots); });
}

/// The least recently used one makes room.
shape_classes::known_shape& shape_classes::known(uint64_t shape) {
  if (!profiles_.contains(shape) && profiles_.size() >= max_profiles)
    profiles_.erase(std::min_element(profiles_.begin(), profiles_.end(), [](const auto& a, const auto& b) {
      return a.second.used_at < b.second.used_at;
    }));
  auto& its = profiles_.try_emplace(shape, known_shape{learned_profile(max_latency_)}).first->second;
  its.used_at = arrivals_;
  return its;
}

void shape_classes::arrived(uint64_t shape, uint64_t bytes) {
  if (!learns()) return;
  auto& its = known(shape);
  its.bytes = bytes;
  its.profile.arrive();
  by_size_.arrive();
  if (!its.profile.knows()) set_latencies();
}

void shape_classes::learn(const batch_sample& s) {
  if (!learns()) return;
  known(s.shape_class).profile.add(s.rows, s.took);
  by_size_.add(s.bytes, s.took);
  set_latencies();
}

void shape_classes::take_latency(batching_policy& former) {
  if (auto* other = dynamic_cast<shape_classes*>(&former)) {
    profiles_ = std::move(other->profiles_);
    by_size_ = other->by_size_;
    set_latencies();
  } else {
    set_latency(former.latency());
  }
}

duration shape_classes::lead() const {
  auto out = duration{};
  for_each([&](auto& p) { out = std::max(out, p.lead()); });
  return out;
}

double shape_classes::need() const {
  double sum = rest_->need();
  for (const auto& c : classes_)
    if (now_ < c.arrived_at + rate_memory) sum += c.policy->need();
  return sum;
}

void shape_classes::set_load(double load) {
  load_ = load;
  for_each([&](auto& p) { p.set_load(load); });
}

void shape_classes::close_window() {
  next_ = nullptr;
  window_ = {};
}

/// Of all classes, if they have changed.
void shape_classes::set_latencies() {
  slowest_ = learns() ? by_size_.latency() : parameters_.latency;
  if (rest_->latency() != slowest_) rest_->set_latency(slowest_);
  for (const auto& c : classes_) {
    const auto own = latency_of(c.shape);
    if (c.policy->latency() != own) c.policy->set_latency(own);
    if (own(1) > slowest_(1)) slowest_ = own;
  }
}

}  // namespace troupe
