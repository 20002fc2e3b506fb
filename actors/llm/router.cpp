#include "actors/llm/router.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr duration ask_interval = 100ms;   // between two requests for an instance
constexpr duration load_interval = 100ms;  // between two reports of the load

request_router::options policy_options(const llm_router::options& o) {
  request_router::options out;
  for (const auto& [id, _] : o.engines) out.engines.push_back(id);
  out.max_waiting = o.max_waiting;
  out.cold_start = o.cold_start;
  out.by_prefix = o.routing == "prefix";
  out.disaggregated = o.disaggregated;
  return out;
}

}  // namespace

llm_router::llm_router(address self, outbox& out, const options& o)
    : actor(self, out), options_(o), requests_(policy_options(o), (*routing_policies().find(o.routing))()) {
  if (o.load_window == duration{}) return;
  load_.emplace(o.load_window);
  report_load_at_ = long_ago;
}

void llm_router::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](route& r) {
                         if (load_) load_->on_route(r, requests_.requests(), now);
                         requests_.on_route(e.from, r, now);
                       },
                       [&](route_ends& r) {
                         for (const auto id : r.requests) requests_.on_end(id, now);
                       },
                       [&](engine_status& s) { requests_.on_status(s, now); },
                       [&](adapters_known& a) { requests_.on_adapters(a); },
                       [&](cached_blocks& b) {
                         if (!requests_.on_cached(b, now)) send(e.from, want_cached_blocks{options_.model});
                       },
                       [&](sequences_preempted& t) { requests_.on_preempted(t); },
                       [&](node_up& n) { incarnations_[n.node] = n.incarnation; },
                       [&](node_down& n) { on_node_down(n); },
                       [&](new_incarnation&) {
                         incarnations_.clear();
                         requests_.clear();
                       },
                   });
}

void llm_router::on_node_down(const node_down& n) {
  if (const auto up = incarnations_.find(n.node); up == incarnations_.end() || up->second != n.incarnation)
    return;
  incarnations_.erase(n.node);
  requests_.lose_gateway(n.node);
  for (const auto& [id, node] : options_.engines)
    if (node == n.node) requests_.lose_engine(id);
}

void llm_router::report_load(time_point now) {
  report_load_at_ = now + load_interval;
  auto load = load_->measure(requests_, now);
  load.model = options_.model;
  for (const auto n : options_.pools) send(on_node(n, role::scale_planner), load);
}

void llm_router::on_time(time_point now) {
  if (options_.consolidate_every > duration{} && now >= consolidate_at_) {
    consolidate_at_ = now + options_.consolidate_every;
    requests_.consolidate(now);
  }
  std::vector<std::pair<address, placements>> placed;
  std::vector<std::pair<address, drops>> refused;
  const auto of = [](auto& all, const address& gateway) -> auto& {
    const auto known = std::ranges::find(all, gateway, [](const auto& p) { return p.first; });
    return known != all.end()
               ? known->second
               : all.emplace_back(gateway, typename std::decay_t<decltype(all)>::value_type::second_type{})
                     .second;
  };
  for (const auto& d : requests_.decide(now)) {
    if (d.refused != drop_reason::none)
      of(refused, d.gateway).requests.push_back({d.to.id, d.to.version, d.refused});
    else
      of(placed, d.gateway).requests.push_back(d.to);
  }
  if (requests_.wants_instance() && now >= ask_pools_at_) {
    ask_pools_at_ = now + ask_interval;
    for (const auto n : options_.pools) send(on_node(n, role::parameter_pool), want_instance{options_.model});
  }
  for (auto& [gateway, p] : placed) {
    p.model = options_.model;
    send(gateway, std::move(p));
  }
  for (auto& [gateway, d] : refused) send(gateway, std::move(d));
  if (now >= report_load_at_) report_load(now);
}

time_point llm_router::next_wakeup() const {
  const bool consolidates = options_.consolidate_every > duration{} && !requests_.requests().empty();
  return std::min({consolidates ? consolidate_at_ : never, requests_.next_due(),
                   requests_.wants_instance() ? ask_pools_at_ : never, report_load_at_});
}

}  // namespace troupe
