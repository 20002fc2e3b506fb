#include "tools/sim/timeline.hpp"

#include <algorithm>

namespace troupe::sim {
namespace {

/// True time is never negative.
unsigned __int128 key_of(duration at, uint64_t order) {
  return static_cast<unsigned __int128>(at.count()) << 64 | order;
}

}  // namespace

void timeline::at(duration t, sim_event kind, node_id owner, std::function<void()> action) {
  const auto& n = nodes_[owner.value];
  if (n.alive) push(t, kind, {std::move(action), owner.value, n.process});
}

void timeline::at_local(time_point t, sim_event kind, node_id owner, std::function<void()> action) {
  at(nodes_[owner.value].time->true_time(t), kind, owner, std::move(action));
}

void timeline::at(duration t, sim_event kind, std::function<void()> action) {
  push(t, kind, {std::move(action), world, 0});
}

void timeline::push(duration t, sim_event kind, job j) {
  uint32_t place = 0;
  if (free_jobs_.empty()) {
    place = static_cast<uint32_t>(jobs_.size());
    jobs_.push_back(std::move(j));
  } else {
    place = free_jobs_.back();
    free_jobs_.pop_back();
    jobs_[place] = std::move(j);
  }
  const auto order = (uint64_t{static_cast<uint8_t>(kind)} << 56) | ++sequence_;
  queue_.push({key_of(std::max(t, now_), order), place});
}

bool timeline::step(duration until) {
  if (queue_.empty() || queue_.top().at() > until) {
    now_ = std::max(now_, until);
    return false;
  }
  const auto e = queue_.top();
  queue_.pop();
  now_ = e.at();
  run(e);
  return true;
}

void timeline::run(const entry& e) {
  auto& j = jobs_[e.place];
  if (j.owner != world) {
    auto& n = nodes_[j.owner];
    const bool over = !n.alive || n.process != j.process;
    if (!over && n.frozen > 0) {
      n.waiting.push_back(e);
      return;
    }
    if (over) j.run = nullptr;
  }
  const auto action = std::move(j.run);
  j.run = nullptr;
  free_jobs_.push_back(e.place);
  if (!action) return;
  ++steps_;
  action();
}

void timeline::end_process(node_id id) {
  auto& n = nodes_[id.value];
  n.alive = false;
  ++n.process;
  for (const auto& e : n.waiting) {
    jobs_[e.place].run = nullptr;
    free_jobs_.push_back(e.place);
  }
  n.waiting.clear();
}

void timeline::thaw(node_id id) {
  auto& n = nodes_[id.value];
  if (--n.frozen > 0) return;
  for (const auto& e : n.waiting) queue_.push({key_of(now_, static_cast<uint64_t>(e.key)), e.place});
  n.waiting.clear();
}

}  // namespace troupe::sim
