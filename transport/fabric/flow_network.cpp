#include "transport/fabric/flow_network.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

constexpr unsigned __int128 per_byte = 1'000'000'000;  // with rates in bytes/s and times in ns

/// An end beyond it is looked at again then: a hundred years.
constexpr uint64_t max_wait = uint64_t{3'155'760'000} * 1'000'000'000;

}  // namespace

flow_network::resource flow_network::add(uint64_t bytes_per_s) {
  resources_.push_back({std::max<uint64_t>(1, bytes_per_s)});
  return static_cast<resource>(resources_.size() - 1);
}

void flow_network::set_rate(resource r, uint64_t bytes_per_s, duration now) {
  advance(now);
  resources_[r].rate = std::max<uint64_t>(1, bytes_per_s);
  share_out();
}

flow_network::flow flow_network::start(uint64_t bytes, std::span<const resource> over, duration now) {
  advance(now);
  flows_.push_back({++last_, {over.begin(), over.end()}, std::max<uint64_t>(1, bytes) * per_byte});
  share_out();
  return last_;
}

void flow_network::limit(flow f, resource r, duration now) {
  advance(now);
  for (auto& m : flows_)
    if (m.id == f) m.over.push_back(r);
  share_out();
}

void flow_network::cancel(flow f, duration now) {
  advance(now);
  if (std::erase_if(flows_, [&](const moving& m) { return m.id == f; }) > 0) share_out();
}

std::vector<flow_network::flow> flow_network::ended(duration now) {
  advance(now);
  return std::exchange(ended_, {});
}

duration flow_network::next_end() const {
  auto next = duration::max();
  for (const auto& m : flows_) next = std::min(next, m.end);
  return next;
}

uint64_t flow_network::rate(flow f) const {
  const auto at = std::find_if(flows_.begin(), flows_.end(), [&](const moving& m) { return m.id == f; });
  return at == flows_.end() ? 0 : at->rate;
}

/// Stops at each end, because the other flows are faster from then on.
void flow_network::advance(duration now) {
  while (now_ < now) {
    const auto until = std::min(now, next_end());
    const auto passed = static_cast<uint64_t>((until - now_).count());
    bool any = false;
    for (auto& m : flows_) {
      const auto moved = static_cast<unsigned __int128>(m.rate) * passed;
      m.left -= std::min(m.left, moved);
      if (m.left > 0) continue;
      ended_.push_back(m.id);
      any = true;
    }
    now_ = until;
    if (!any) continue;
    std::erase_if(flows_, [](const moving& m) { return m.left == 0; });
    share_out();
  }
}

/// Progressive filling: the resource with the least rate for each of its flows decides their rates; without
/// them and what they take from other resources, the next one is found.
void flow_network::share_out() {
  for (auto& r : resources_) {
    r.left = r.rate;
    r.sharing = 0;
  }
  for (auto& m : flows_) {
    m.has_rate = false;
    for (const auto r : m.over) ++resources_[r].sharing;
  }
  for (size_t without = flows_.size(); without > 0;) {
    const auto bottleneck = tightest();
    const auto rate = std::max<uint64_t>(1, resources_[bottleneck].left / resources_[bottleneck].sharing);
    for (auto& m : flows_) {
      if (m.has_rate || std::find(m.over.begin(), m.over.end(), bottleneck) == m.over.end()) continue;
      m.has_rate = true;
      m.rate = rate;
      const auto rest = std::min<unsigned __int128>((m.left + rate - 1) / rate, max_wait);
      m.end = now_ + duration{static_cast<int64_t>(rest)};
      for (const auto r : m.over) {
        resources_[r].left -= std::min(resources_[r].left, rate);
        --resources_[r].sharing;
      }
      --without;
    }
  }
}

flow_network::resource flow_network::tightest() const {
  resource out = 0;
  uint64_t least = UINT64_MAX;
  for (resource r = 0; r < resources_.size(); ++r) {
    const auto& l = resources_[r];
    if (l.sharing == 0 || l.left / l.sharing >= least) continue;
    least = l.left / l.sharing;
    out = r;
  }
  return out;
}

}  // namespace troupe
