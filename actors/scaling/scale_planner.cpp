#include "actors/scaling/scale_planner.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {
namespace {

constexpr size_t kept_decisions = 256;

}  // namespace

scale_planner::scaled::scaled(const cluster_spec& cluster, llm_id model)
    : id(model),
      spec(cluster.llms[model.value]),
      monitor(spec),
      rule({spec.min_instances, spec.max_instances, spec.loop.scale_down}) {
  if (spec.disaggregated())
    phases.emplace(scale_rule::parameters{spec.min_instances, spec.max_instances, spec.loop.scale_down});
}

scale_planner::scale_planner(address self, outbox& out, const cluster_spec& cluster)
    : actor(self, out), cluster_(cluster), decisions_(kept_decisions) {
  for (uint32_t i = 0; i < cluster.llms.size(); ++i)
    if (cluster.llms[i].loop.mode != autoscale_mode::off) models_.emplace_back(cluster, llm_id{i});
}

void scale_planner::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](measured_load& l) {
                         auto* m = find(l.model);
                         if (m == nullptr || e.from.node != router_node()) return;
                         m->monitor.learn(l);
                         m->fresh = true;
                       },
                       [&](instances_known& k) { learn(k, now); },
                       [&](instances_ordered& o) { complete(o); },
                       [&](node_up& n) { nodes_up_.add(n); },
                       [&](node_down& n) { nodes_up_.remove(n); },
                       [&](new_incarnation&) {
                         nodes_up_.clear();
                         for (auto& m : models_) m.forget();
                       },
                   });
}

void scale_planner::on_time(time_point now) {
  for (auto& m : models_)
    if (std::exchange(m.fresh, false) && m.wanted) decide(m, now);
}

bool scale_planner::leads() const {
  return std::ranges::any_of(models_, [](const scaled& m) { return m.wanted.has_value(); });
}

/// The router that gateways use (actors/llm/serving_nodes.hpp).
node_id scale_planner::router_node() const {
  for (const auto n : leader_candidates(cluster_))
    if (nodes_up_.contains(n)) return n;
  return self_.node;
}

scale_planner::scaled* scale_planner::find(llm_id model) {
  const auto m = std::ranges::find(models_, model, &scaled::id);
  return m == models_.end() ? nullptr : &*m;
}

/// Advice goes on from what was advised until somebody orders another number.
void scale_planner::learn(const instances_known& k, time_point now) {
  auto* m = find(k.model);
  if (m == nullptr) return;
  m->monitor.learn_loading(k.starting > 0, now);
  const bool as_before = m->spec.loop.mode == autoscale_mode::advise && m->instances.known &&
                         k.ordered == m->instances.ordered && k.prefill == m->instances.prefill;
  m->instances = k;
  if (!k.known)
    m->forget();
  else if (!m->wanted || !as_before)
    m->wanted = k.ordered, m->prefill = k.prefill;
}

void scale_planner::decide(scaled& m, time_point now) {
  if (m.phases) return decide_phases(m, now);
  const auto had = *m.wanted;
  const auto uncounted = planted(bug::uncounted_loading) ? std::min(m.instances.starting, had) : 0;
  const auto d = m.rule.decide(now, m.monitor.loads(now), m.monitor.arriving_per_s(), had - uncounted);
  m.wanted = d.instances + uncounted;
  note(m, {had, 0}, d.needed, d.why, now);
}

void scale_planner::decide_phases(scaled& m, time_point now) {
  const auto loads = m.monitor.loads(now);
  const auto prefill = std::span(loads).first(1), decode = std::span(loads).subspan(1);
  const numbers had{*m.wanted, m.prefill};
  const auto d = m.phases->decide(now, prefill, decode, m.monitor.arriving_per_s(),
                                  {had.prefill, had.instances - had.prefill});
  m.wanted = d.wanted.sum();
  m.prefill = d.wanted.prefill;
  note(m, had, {d.prefill.min + d.decode.min, d.prefill.max + d.decode.max}, d.why, now);
}

/// Orders what has changed.
void scale_planner::note(scaled& m, const numbers& had, const instance_range& needed, scale_reason why,
                         time_point now) {
  m.reason = why;
  if (had == numbers{*m.wanted, m.prefill}) return;
  const bool applied = m.spec.loop.mode == autoscale_mode::apply;
  if (*m.wanted != had.instances) ++(*m.wanted > had.instances ? m.more : m.fewer);
  spdlog::info("event=scaling_decision model={} from={} to={} prefill={} reason={} applied={}", m.spec.name,
               had.instances, *m.wanted, m.prefill, to_string(why), applied);
  decisions_.push({now,
                   m.id,
                   {m.spec.name,
                    {},
                    applied,
                    had.instances,
                    *m.wanted,
                    std::string(to_string(why)),
                    needed.min,
                    needed.max,
                    m.monitor.arriving_per_s(),
                    m.monitor.waiting_tokens(),
                    resources(m, now),
                    {},
                    had.prefill,
                    m.prefill}});
  send(on_node(self_.node, role::parameter_pool), order_instances{m.id, *m.wanted, !applied, m.prefill});
}

/// Adds the plan to the decision that it carries out.
void scale_planner::complete(const instances_ordered& o) {
  for (auto i = decisions_.size(); i-- > 0;) {
    auto& d = decisions_[i];
    if (d.model != o.model) continue;
    if (d.what.to == o.instances) d.what.plan = o.plan;
    return;
  }
}

}  // namespace troupe
