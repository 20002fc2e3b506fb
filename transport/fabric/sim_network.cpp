#include "transport/fabric/sim_network.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe {
namespace {

duration on_wire(uint64_t bytes, double gbit_per_s) {
  return duration{static_cast<int64_t>(static_cast<double>(bytes) * 8 / gbit_per_s)};
}

uint64_t bytes_per_s(double gbit_per_s) { return static_cast<uint64_t>(gbit_per_s * 1e9 / 8); }

/// More than any interface has.
constexpr uint64_t unlimited_rate = uint64_t{1} << 60;

}  // namespace

sim_network::sim_network(sim_timeline& timeline, const cluster_spec& cluster, const options& o)
    : timeline_(timeline),
      options_(o),
      nodes_(cluster.nodes.size()),
      pairs_(nodes_ * nodes_),
      channels_(nodes_ * nodes_ * 2),
      interfaces_(nodes_, interface{o.gbit_per_s}),
      ports_(nodes_),
      deaf_(nodes_) {
  connect_leaves(cluster);
  connect_domains(cluster);
  for (auto& i : interfaces_) {
    i.out = flows_.add(bytes_per_s(i.gbit_per_s));
    i.in = flows_.add(bytes_per_s(i.gbit_per_s));
  }
}

void sim_network::connect_leaves(const cluster_spec& cluster) {
  std::map<std::string, uint32_t> by_name;
  for (const auto& link : cluster.links) {
    uint32_t leaf = no_leaf;
    if (!link.leaf.empty()) {
      const auto [at, first] = by_name.try_emplace(link.leaf, static_cast<uint32_t>(leaves_.size()));
      leaf = at->second;
      const auto rate = link.uplink_gbit_per_s > 0 ? bytes_per_s(link.uplink_gbit_per_s) : unlimited_rate;
      if (first) leaves_.push_back({flows_.add(rate), flows_.add(rate)});
    }
    for (size_t i = 0; i < nodes_; ++i) {
      if (std::find(link.nodes.begin(), link.nodes.end(), cluster.nodes[i].name) == link.nodes.end())
        continue;
      interfaces_[i].gbit_per_s = link.gbit_per_s;
      interfaces_[i].leaf = leaf;
    }
  }
}

void sim_network::connect_domains(const cluster_spec& cluster) {
  for (const auto& link : cluster.links) {
    if (link.scale_up_domain.empty()) continue;
    const auto rate = link.scale_up_gbit_per_s > 0 ? bytes_per_s(link.scale_up_gbit_per_s) : unlimited_rate;
    for (size_t i = 0; i < nodes_; ++i) {
      if (std::ranges::count(link.nodes, cluster.nodes[i].name) == 0) continue;
      interfaces_[i].domain = link.scale_up_domain;
      interfaces_[i].domain_out = flows_.add(rate);
      interfaces_[i].domain_in = flows_.add(rate);
    }
  }
}

bool sim_network::share_domain(node_id a, node_id b) const {
  const auto& domain = interfaces_[a.value].domain;
  return !domain.empty() && domain == interfaces_[b.value].domain;
}

void sim_network::attach(node_id node, sim_lane lane, sim_port* port) {
  ports_[node.value][static_cast<size_t>(lane)] = port;
  if (lane == sim_lane::data) hear_again(node);
  if (port != nullptr || lane != sim_lane::data) return;
  // Its pulls end now: they are lost if the fabric has stopped, and nobody waits for them if the process has
  // ended.
  for (auto p = pulls_.begin(); p != pulls_.end();) {
    const auto it = p++;
    if (it->second.to != node) continue;
    flows_.cancel(it->first, timeline_.now());
    timeline_.at(timeline_.now(), sim_event::pull, node, std::move(it->second.action));
    pulls_.erase(it);
  }
  arm();
}

duration sim_network::jitter(duration up_to) {
  const auto x = timeline_.draw();
  return duration{
      static_cast<int64_t>((static_cast<unsigned __int128>(x) * static_cast<uint64_t>(up_to.count())) >> 64)};
}

/// Store and forward: the packet takes its turn on both interfaces.
duration sim_network::transfer(node_id from, node_id to, uint64_t bytes) {
  auto& out = interfaces_[from.value];
  auto& in = interfaces_[to.value];
  double rate = std::min(out.gbit_per_s, in.gbit_per_s);
  for (const double slow : between(from, to).slow) rate = std::min(rate, slow);
  const auto start = std::max({timeline_.now(), out.sends_until, in.receives_until});
  const auto end = start + on_wire(bytes, rate);
  out.sends_until = in.receives_until = end;
  auto t = end + options_.data_latency + jitter(options_.data_jitter) + between(from, to).extra;
  if (timeline_.draw() % 512 == 0) t += jitter(options_.burst);
  return t;
}

void sim_network::send(node_id from, node_id to, sim_lane lane, uint64_t connection,
                       std::vector<std::byte> bytes) {
  auto& p = between(from, to);
  if (p.cuts > 0 || ports_[to.value][static_cast<size_t>(lane)] == nullptr) return;
  auto t = transfer(from, to, bytes.size());
  if (lane == sim_lane::control)
    t += options_.control_latency - options_.data_latency + jitter(options_.control_jitter);
  if (p.reorder > duration{0}) t += jitter(p.reorder);
  auto& c = of(from, to, lane);
  c.last_arrival = t = std::max(t, c.last_arrival);
  c.in_flight.push_back({t, connection, std::move(bytes)});
  // Two captured words: a third would need an allocation.
  timeline_.at(t, sim_event::network, to, [this, which = index_of(from, to, lane)] { arrive(which); });
}

void sim_network::arrive(size_t which) {
  const node_id from{static_cast<uint32_t>(which / 2 / nodes_)},
      to{static_cast<uint32_t>(which / 2 % nodes_)};
  auto& c = channels_[which];
  if (between(from, to).stalls > 0) return;  // the end of the stall calls this again
  std::vector<sim_packet> arrived;
  while (!c.in_flight.empty() && c.in_flight.front().arrival <= timeline_.now()) {
    arrived.push_back(std::move(c.in_flight.front()));
    c.in_flight.pop_front();
  }
  const bool lost = deaf_[to.value] && which % 2 == static_cast<size_t>(sim_lane::data);
  auto* port = lost ? nullptr : ports_[to.value][which % 2];
  if (port != nullptr && !arrived.empty()) port->receive(from, arrived);
}

void sim_network::when_passing(node_id a, node_id b, node_id owner, std::function<void()> action) {
  auto& p = between(a, b);
  if (p.stalls > 0)
    p.waiting.emplace_back(owner, std::move(action));
  else
    action();
}

std::vector<flow_network::resource> sim_network::way(node_id from, node_id to) {
  const auto& out = interfaces_[from.value];
  const auto& in = interfaces_[to.value];
  const bool scale_up = share_domain(from, to);
  std::vector<flow_network::resource> over{scale_up ? out.domain_out : out.out,
                                           scale_up ? in.domain_in : in.in};
  if (!scale_up && out.leaf != in.leaf) {
    if (out.leaf != no_leaf) over.push_back(leaves_[out.leaf].up);
    if (in.leaf != no_leaf) over.push_back(leaves_[in.leaf].down);
  }
  if (const auto& limits = between(from, to).limits) over.push_back((*limits)[from > to]);
  return over;
}

void sim_network::move(node_id from, node_id to, uint64_t bytes, std::function<void()> action) {
  const auto f = flows_.start(bytes, way(from, to), timeline_.now());
  pulls_.emplace(f, long_pull{from, to, std::move(action)});
  arm();
}

void sim_network::arm() {
  const auto next = flows_.next_end();
  if (next >= armed_) return;  // the event at that time looks again
  armed_ = next;
  timeline_.at(next, sim_event::network, [this, next] {
    if (armed_ != next) return;
    armed_ = duration::max();
    end_pulls();
  });
}

void sim_network::end_pulls() {
  for (const auto f : flows_.ended(timeline_.now())) {
    const auto at = pulls_.find(f);
    if (at == pulls_.end()) continue;
    auto& p = at->second;
    const auto t =
        timeline_.now() + options_.data_latency + jitter(options_.data_jitter) + between(p.from, p.to).extra;
    timeline_.at(t, sim_event::pull, p.to, std::move(p.action));
    pulls_.erase(at);
  }
  arm();
}

/// The slowest of the slow links that are on decides.
void sim_network::set_limits(node_id a, node_id b) {
  auto& p = between(a, b);
  if (!p.limits) {
    p.limits = {flows_.add(unlimited_rate), flows_.add(unlimited_rate)};
    for (const auto& [f, pull] : pulls_)
      if (std::minmax(pull.from, pull.to) == std::minmax(a, b))
        flows_.limit(f, (*p.limits)[pull.from > pull.to], timeline_.now());
  }
  auto rate = unlimited_rate;
  for (const double slow : p.slow) rate = std::min(rate, bytes_per_s(slow));
  for (const auto r : *p.limits) flows_.set_rate(r, rate, timeline_.now());
  arm();
}

void sim_network::begin_slow(node_id a, node_id b, double gbit_per_s) {
  between(a, b).slow.push_back(gbit_per_s);
  set_limits(a, b);
}

void sim_network::end_slow(node_id a, node_id b, double gbit_per_s) {
  auto& slow = between(a, b).slow;
  slow.erase(std::find(slow.begin(), slow.end(), gbit_per_s));
  set_limits(a, b);
}

void sim_network::end_stall(node_id a, node_id b) {
  auto& p = between(a, b);
  if (--p.stalls > 0) return;
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}})
    for (const auto lane : {sim_lane::data, sim_lane::control})
      timeline_.at(
          timeline_.now() + (lane == sim_lane::control ? jitter(options_.control_jitter) : duration{}),
          sim_event::network, to, [this, which = index_of(from, to, lane)] { arrive(which); });
  for (auto& [owner, action] : p.waiting)
    timeline_.at(timeline_.now(), sim_event::pull, owner, std::move(action));
  p.waiting.clear();
}

void sim_network::lose_suffix(channel& c) {
  const auto kept = timeline_.draw() % (c.in_flight.size() + 1);
  while (c.in_flight.size() > kept) c.in_flight.pop_back();
  c.last_arrival = c.in_flight.empty() ? timeline_.now() : c.in_flight.back().arrival;
}

void sim_network::begin_cut(node_id a, node_id b, duration until) {
  ++between(a, b).cuts;
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    for (const auto lane : {sim_lane::data, sim_lane::control}) {
      lose_suffix(of(from, to, lane));
      // Both ends notice, each at its own time, but not before all kept packets have arrived.
      const auto last = std::max(timeline_.now(), of(from, to, lane).last_arrival);
      const auto noticed = last + jitter(std::max(until - timeline_.now(), duration{1}));
      if (auto* port = ports_[to.value][static_cast<size_t>(lane)]; port != nullptr)
        port->broken(from, noticed);
    }
  }
}

void sim_network::crash(node_id node, bool reset) {
  for (uint32_t i = 0; i < nodes_; ++i) {
    const node_id peer{i};
    if (peer == node) continue;
    std::erase_if(between(node, peer).waiting, [&](const auto& w) { return w.first == node; });
    for (const auto lane : {sim_lane::data, sim_lane::control}) {
      of(peer, node, lane).in_flight.clear();
      lose_suffix(of(node, peer, lane));
      if (!reset) continue;
      const auto noticed = std::max(timeline_.now(), of(node, peer, lane).last_arrival) + jitter(2ms);
      if (auto* port = ports_[i][static_cast<size_t>(lane)]; port != nullptr) port->broken(node, noticed);
    }
  }
  attach(node, sim_lane::data, nullptr);
  attach(node, sim_lane::control, nullptr);
}

}  // namespace troupe
