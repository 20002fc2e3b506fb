#include "policies/llm/adapter_slots.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace troupe::llm {

namespace {

constexpr size_t no_demand = std::numeric_limits<size_t>::max();

}  // namespace

struct adapter_slots::round {
  std::unordered_map<adapter_id, size_t> urgency;  // position in `wanted`
  std::vector<adapter_id> without;                 // wanted and without a slot, most urgent first
  decision moves;

  size_t urgency_of(adapter_id a) const {
    const auto found = urgency.find(a);
    return found == urgency.end() ? no_demand : found->second;
  }
};

adapter_slots::adapter_slots(uint32_t slots) : slots_(slots) {}

adapter_slots::decision adapter_slots::decide(std::span<const adapter_id> wanted,
                                              const std::function<uint32_t(adapter_id)>& users,
                                              time_point now) {
  round r;
  if (slots_ == 0) return r.moves;
  for (auto h = held_.begin(); h != held_.end();) {
    const bool gone = h->second.state == place::fenced && users(h->first) == 0;
    if (gone) r.moves.unload.push_back(h->first);
    h = gone ? held_.erase(h) : std::next(h);
  }
  for (const auto a : wanted) {
    if (a == base_model || !r.urgency.emplace(a, r.urgency.size()).second) continue;
    const auto held = held_.find(a);
    if (held == held_.end() || (held->second.state == place::fenced && !held->second.retired))
      r.without.push_back(a);
  }
  if (r.without.empty()) return r.moves;
  take_free_slots(r);
  take_unused_slots(r, users);
  fence_for_waiting(r);
  for (const auto a : r.moves.load) held_[a] = {place::loading, false, now, now};
  return r.moves;
}

/// Fenced ones wait for their own sequences: no adapter is on a device twice.
void adapter_slots::take_free_slots(round& r) {
  auto free = slots_ - taken();
  std::erase_if(r.without, [&](adapter_id a) {
    if (free == 0 || held_.contains(a)) return false;
    --free;
    r.moves.load.push_back(a);
    return true;
  });
}

/// First the slots of adapters that no sequence waits for, then those of the least urgent ones.
void adapter_slots::take_unused_slots(round& r, const std::function<uint32_t(adapter_id)>& users) {
  struct unused {
    adapter_id id;
    size_t urgency;
    time_point last_used;
  };
  if (r.without.empty()) return;
  std::vector<unused> candidates;
  for (const auto& [a, s] : held_)
    if (s.state == place::ready && users(a) == 0) candidates.push_back({a, r.urgency_of(a), s.last_used});
  std::sort(candidates.begin(), candidates.end(), [](const unused& a, const unused& b) {
    return std::tuple{~a.urgency, a.last_used, a.id} < std::tuple{~b.urgency, b.last_used, b.id};
  });
  size_t taken = 0;
  std::erase_if(r.without, [&](adapter_id a) {
    if (held_.contains(a) || taken == candidates.size()) return false;
    const auto& c = candidates[taken];
    if (c.urgency < r.urgency_of(a)) return false;
    ++taken;
    held_.erase(c.id);
    r.moves.unload.push_back(c.id);
    r.moves.load.push_back(a);
    return true;
  });
}

/// A slot that is fenced already counts for one of them.
void adapter_slots::fence_for_waiting(round& r) {
  size_t coming = 0;
  std::vector<std::pair<time_point, adapter_id>> longest_first;
  for (const auto& [a, s] : held_) {
    if (s.state == place::fenced || s.retired) ++coming;
    if (s.state == place::ready) longest_first.emplace_back(s.since, a);
  }
  std::sort(longest_first.begin(), longest_first.end());
  for (size_t i = coming; i < r.without.size(); ++i) {
    const auto urgency = r.urgency_of(r.without[i]);
    const auto next = std::find_if(longest_first.begin(), longest_first.end(),
                                   [&](const auto& x) { return r.urgency_of(x.second) > urgency; });
    if (next == longest_first.end()) return;
    held_.at(next->second).state = place::fenced;
    r.moves.fence.push_back(next->second);
    longest_first.erase(next);
  }
}

void adapter_slots::loaded(adapter_id a, time_point now) {
  const auto h = held_.find(a);
  if (h == held_.end() || h->second.state != place::loading) return;
  auto& s = h->second;
  s.state = s.retired ? place::fenced : place::ready;
  s.since = s.last_used = now;
}

void adapter_slots::failed(adapter_id a) {
  const auto h = held_.find(a);
  if (h != held_.end() && h->second.state == place::loading) held_.erase(h);
}

void adapter_slots::used(adapter_id a, time_point now) {
  const auto h = held_.find(a);
  if (h != held_.end()) h->second.last_used = std::max(h->second.last_used, now);
}

void adapter_slots::retire(adapter_id a) {
  const auto h = held_.find(a);
  if (h == held_.end()) return;
  h->second.retired = true;
  if (h->second.state == place::ready) h->second.state = place::fenced;
}

adapter_slots::place adapter_slots::of(adapter_id a) const {
  const auto h = held_.find(a);
  return h == held_.end() ? place::away : h->second.state;
}

std::vector<adapter_id> adapter_slots::on_device() const {
  std::vector<adapter_id> out;
  for (const auto& [id, s] : held_)
    if (s.state != place::loading) out.push_back(id);
  return out;
}

}  // namespace troupe::llm
