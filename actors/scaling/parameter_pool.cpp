#include "actors/scaling/parameter_pool.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {
namespace {

constexpr duration settling = 2s;    // after which a new leader decides although some nodes have not reported
constexpr duration interval = 10ms;  // between two decisions at least
constexpr duration problem_pause = 10s;  // after which a node tries again to get images with a problem
constexpr duration order_again = 500ms;  // after which an order without effect is given again

/// The planted bugs of plans.
void plant_bugs(copy_plan& plan, const scaling_view& v) {
  const auto sends_another = [&](node_id n, weights_id m) {
    return std::ranges::any_of(v.nodes, [&](const scaling_view::node& to) {
      return std::ranges::any_of(to.images, [&](const image_state& i) {
        return to.id != n && i.model != m && i.from == n && i.is_arriving();
      });
    });
  };
  for (auto& p : plan.places)
    for (const auto& n : v.nodes) {
      if (p.from == p.node || !n.has(p.model)) continue;
      if (planted(bug::two_successors)) p.from = n.id;
      if (planted(bug::busy_source) && sends_another(n.id, p.model)) p.from = n.id;
      if (p.from == n.id) break;
    }
  if (planted(bug::drop_last_copy) && plan.drops.empty() && !v.models.empty())
    for (const auto& n : v.nodes)
      if (n.has(v.models[0].id)) plan.drops = {{n.id, v.models[0].id}};
}

}  // namespace

parameter_pool::parameter_pool(address self, outbox& out, const cluster_spec& cluster,
                               const std::function<uint64_t(llm_id)>& bytes_of)
    : actor(self, out), cluster_(cluster), names_(cluster), rates_(cluster) {
  for (uint32_t i = 0; i < cluster.llms.size(); ++i)
    if (cluster.llms[i].scales) models_.push_back({llm_id{i}, bytes_of(llm_id{i}), {}});
}

void parameter_pool::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](engine_status& s) { on_status(s, now); },
                       [&](shard_inventory& i) {
                         rates_.learn(i.node, i.rates, i.disk_gbit_per_s);
                         shards_[i.node] = std::move(i);
                         changed_ = true;
                       },
                       [&](model_change& m) { names_.learn(m); },
                       [&](want_instance& w) {
                         for (auto& m : models_)
                           if (m.id == w.model && m.wanted == 0u) order_first(m);
                       },
                       [&](order_instances& o) { on_planner(o, now); },
                       [&](node_up& n) {
                         nodes_up_.add(n);
                         std::erase(leaving_, n.node);
                         if (n.node == self_.node && !has_standby(cluster_)) set_leading(true, now);
                         changed_ = true;
                       },
                       [&](node_leaving& n) {
                         leaving_.push_back(n.node);
                         changed_ = true;
                       },
                       [&](node_down& n) { on_node_down(n, now); },
                       [&](leadership& l) {
                         learn_term(l.term, now);
                         set_leading(l.scheduler == self_.node && l.incarnation == self_.incarnation, now);
                       },
                       [&](new_incarnation&) {
                         set_leading(false, now);
                         nodes_up_.clear();
                         leaving_.clear();
                         engines_.clear();
                         shards_.clear();
                       },
                   });
}

void parameter_pool::on_status(const engine_status& s, time_point now) {
  if (s.engine.value >= cluster_.engines.size()) return;
  auto& e = engines_[s.engine];
  if (s.stage != instance_stage::parked)
    e.parked_at = never;
  else if (e.stage != instance_stage::parked)
    e.parked_at = now;
  e.stage = s.stage;
  e.unusable = !s.problem.empty();
  e.sequences = s.running + s.waiting;
  e.phase = s.phase;
  const auto& spec = cluster_.engines[s.engine.value];
  if (e.sequences > 0 || e.stage == instance_stage::loading)
    use_.learn(spec.node, weights_of(spec.model), now);
  changed_ = true;
}

void parameter_pool::on_node_down(const node_down& n, time_point now) {
  nodes_up_.remove(n);
  if (nodes_up_.contains(n.node)) return;
  std::erase(leaving_, n.node);
  std::erase_if(engines_, [&](const auto& e) { return cluster_.engines[e.first.value].node == n.node; });
  shards_.erase(n.node);
  pending_.expected(reported(now));  // forgets its orders, before it comes back
  changed_ = true;
}

void parameter_pool::set_leading(bool leads, time_point now) {
  if (leads == leads_) return;
  leads_ = leads;
  leads_since_ = now;
  for (auto& m : models_) {
    m.wanted.reset();
    tell_planner(m, {});
  }
  pending_ = {};
  changed_ = true;
}

/// Orders of former terms may be ignored from now on.
void parameter_pool::learn_term(term_id term, time_point now) {
  if (term == term_) return;
  term_ = term;
  leads_since_ = now;
  pending_ = {};
  changed_ = true;
}

/// The node's shard has reported that it obeys this leader, so no order of a former one changes its images.
bool parameter_pool::obeys(node_id node) const {
  const auto s = shards_.find(node);
  return s != shards_.end() && s->second.term >= term_;
}

/// It does not know yet what there is, or some shards still obey a former leader.
bool parameter_pool::is_learning(time_point now) const {
  return std::ranges::any_of(models_, [](const scaled& m) { return !m.wanted; }) ||
         (now < leads_since_ + settling &&
          std::ranges::any_of(shards_, [&](const auto& s) { return !obeys(s.first); }));
}

/// Every node with a place has reported.
bool parameter_pool::knows_all() const {
  for (uint32_t i = 0; i < cluster_.engines.size(); ++i)
    if (const auto& e = cluster_.engines[i]; cluster_.llms[e.model.value].scales)
      if (!engines_.contains(engine_id{i}) || !obeys(e.node)) return false;
  return true;
}

/// Requests wait, and it has no instance.
void parameter_pool::order_first(scaled& model) {
  const bool apart = cluster_.llms[model.id.value].disaggregated();
  model.wanted = apart ? 2 : 1;
  model.prefill = apart ? 1 : 0;
  changed_ = true;
}

uint32_t parameter_pool::prefills_of(llm_id model) const {
  return static_cast<uint32_t>(std::ranges::count_if(engines_, [&](const auto& e) {
    return cluster_.engines[e.first.value].model == model && e.second.stage == instance_stage::serving &&
           e.second.phase == instance_phase::prefill;
  }));
}

/// A cluster that has just begun has no images: its models get the instances of the file. A new leader of a
/// running one takes over what there is.
void parameter_pool::learn_wanted(time_point now) {
  if (!knows_all() && (now < leads_since_ + settling || shards_.empty())) return;
  for (auto& m : models_) {
    if (m.wanted) continue;
    const auto& file = cluster_.llms[m.id.value];
    const auto runs = static_cast<uint32_t>(std::ranges::count_if(engines_, [&](const auto& e) {
      const auto stage = e.second.stage;
      return cluster_.engines[e.first.value].model == m.id &&
             (stage == instance_stage::loading || stage == instance_stage::serving);
    }));
    const bool has_images = std::ranges::any_of(shards_, [&](const auto& s) {
      return std::ranges::count(s.second.images, weights_of(m.id), &image_state::model) > 0;
    });
    m.wanted = runs > 0 || has_images ? std::max(runs, file.min_instances) : file.instances;
    if (!file.disaggregated() || m.wanted == 0u) continue;
    m.wanted = std::max(*m.wanted, 2u);
    m.prefill = std::clamp(runs >= 2 ? prefills_of(m.id) : file.prefill_instances, 1u, *m.wanted - 1);
  }
}

scaling_view parameter_pool::reported(time_point now) const {
  scaling_view v;
  v.copies = cluster_.scaling.copies;
  v.policy = cluster_.scaling.policy;
  v.keep = cluster_.scaling.keep;
  for (const auto& m : models_)
    v.models.push_back(
        {weights_of(m.id), cluster_.llms[m.id.value].name, m.wanted.value_or(0), m.bytes, m.prefill});
  for (const auto& [id, s] : shards_) {
    if (!obeys(id)) continue;
    v.nodes.push_back({id, s.capacity, cluster_.nodes[id.value].max_engines,
                       std::ranges::count(leaving_, id) > 0, s.images});
    v.nodes.back().domain = rates_.domain_of(id);
    std::erase_if(v.nodes.back().images, [&, node = id](const image_state& i) {
      const auto known = problems_.find({node, i.model});
      return !i.problem.empty() && known != problems_.end() && now >= known->second + problem_pause;
    });
  }
  for (const auto& [id, e] : engines_) {
    const auto& spec = cluster_.engines[id.value];
    if (v.find(spec.node) == nullptr) continue;
    v.places.push_back({id, weights_of(spec.model), spec.node, e.stage, e.unusable, e.sequences,
                        e.parked_at != never && now >= e.parked_at + cluster_.scaling.park, e.phase});
  }
  add_files(v);
  if (v.policy == scaling_policy::serverless) use_.add_to(v, leads_since_, now);
  return v;
}

/// Tensor models have the size that a node has in memory, or else the largest one of a disk.
void parameter_pool::add_files(scaling_view& v) const {
  std::map<weights_id, std::pair<bool, uint64_t>> sizes;
  for (const auto& n : v.nodes)
    for (const auto& i : n.images)
      if (are_model_files(i.model))
        sizes[i.model] =
            std::max(sizes[i.model], std::pair(i.chunks > 0, i.chunks > 0 ? i.bytes : i.on_disk));
  for (const auto& [files, size] : sizes) v.models.push_back({files, names_.of(files), 0, size.second});
}

/// Nodes of engines that will serve, and those that list files of tensor models: they get the images, or keep
/// them.
std::vector<copy_target> parameter_pool::targets(const scaling_view& v, const instance_choice& c) const {
  std::vector<copy_target> out;
  for (const auto id : c.starting)
    out.push_back({cluster_.engines[id.value].node, weights_of(cluster_.engines[id.value].model)});
  for (const auto& n : v.nodes)
    for (const auto& i : n.images)
      if (are_model_files(i.model)) out.push_back({n.id, i.model});
  return out;
}

void parameter_pool::on_time(time_point now) {
  if (!leads_) return;
  if (std::ranges::any_of(models_, [](const scaled& m) { return !m.wanted; })) learn_wanted(now);
  if (now >= repeat_at_) repeat_orders(now);
  if ((changed_ && now >= reconciled_at_ + interval) || now >= again_at_) reconcile(now);
}

time_point parameter_pool::next_wakeup() const {
  if (!leads_) return never;
  return std::min({changed_ ? reconciled_at_ + interval : never, again_at_, repeat_at_});
}

void parameter_pool::reconcile(time_point now) {
  changed_ = false;
  reconciled_at_ = now;
  again_at_ = never;
  if (is_learning(now)) {
    again_at_ = now + order_again / 5;
    return;
  }
  const auto v = pending_.expected(reported(now));
  learn_problems(now);
  const auto choice = choose_instances(v);
  auto copies = plan_copies(v, targets(v, choice), rates_);
  if (planted(bug::two_successors) || planted(bug::busy_source) || planted(bug::drop_last_copy))
    plant_bugs(copies, v);
  for (auto& m : models_) {
    const auto starting = std::ranges::count_if(
        choice.starting, [&](engine_id e) { return cluster_.engines[e.value].model == m.id; });
    tell_planner(m, {m.id, true, *m.wanted, static_cast<uint32_t>(starting),
                     std::ranges::count(choice.short_of_places, weights_of(m.id)) > 0, m.prefill});
  }
  const auto stages = pending_.send(choice.orders);
  const auto sent = pending_.send(copies);
  placed_ += sent.places.size();
  dropped_ += sent.drops.size();
  for (const auto& c : sent.places) {
    const auto* image = v.find(c.node)->image(c.model);
    relinked_ += image != nullptr && image->chunks > 0;
  }
  send_orders(stages, sent);
  const bool sent_any = !stages.empty() || !sent.places.empty() || !sent.drops.empty();
  if (sent_any || (repeat_at_ == never && is_pending())) repeat_at_ = now + order_again;
  for (const auto& o : choose_phases(v, choice)) {
    send(on_node(cluster_.engines[o.engine.value].node, role::llm_engine, o.engine.value),
         set_phase{term_, o.engine, o.to});
    again_at_ = now + order_again;
  }
  for (const auto& [_, e] : engines_)
    if (e.stage == instance_stage::parked && e.parked_at + cluster_.scaling.park > now)
      again_at_ = std::min(again_at_, e.parked_at + cluster_.scaling.park);
  again_at_ = std::min(again_at_, image_use::next_unused(v, now));
}

/// Only changes, and only of models with a scaling loop.
void parameter_pool::tell_planner(scaled& model, instances_known k) {
  k.model = model.id;
  if (cluster_.llms[model.id.value].loop.mode == autoscale_mode::off || k == model.told) return;
  model.told = k;
  send(on_node(self_.node, role::scale_planner), k);
}

/// An image with a problem that is old enough was left out of the view, so that it is placed again.
void parameter_pool::learn_problems(time_point now) {
  std::map<std::pair<node_id, weights_id>, time_point> latest;
  for (const auto& [node, s] : shards_)
    for (const auto& i : s.images) {
      if (i.problem.empty()) continue;
      const auto known = problems_.find({node, i.model});
      const auto since =
          known == problems_.end() || now >= known->second + problem_pause ? now : known->second;
      latest[{node, i.model}] = since;
      again_at_ = std::min(again_at_, since + problem_pause);
    }
  problems_ = std::move(latest);
}

bool parameter_pool::is_pending() const {
  const auto copies = pending_.copies();
  return !pending_.stages().empty() || !copies.places.empty() || !copies.drops.empty();
}

/// Messages may be lost, and sources may turn out to have nothing.
void parameter_pool::repeat_orders(time_point now) {
  pending_.expected(reported(now));
  repeat_at_ = is_pending() ? now + order_again : never;
  send_orders(pending_.stages(), pending_.copies());
}

void parameter_pool::send_orders(const std::vector<stage_order>& stages, const copy_plan& copies) {
  const auto shard_of = [](node_id n) { return on_node(n, role::parameter_shard); };
  for (const auto& c : copies.places) send(shard_of(c.node), place_copy{term_, c.model, c.from, c.bytes});
  for (const auto& d : copies.drops) send(shard_of(d.node), drop_copy{term_, d.model});
  for (const auto& o : stages)
    send(on_node(cluster_.engines[o.engine.value].node, role::llm_engine, o.engine.value),
         set_stage{term_, o.engine, o.to});
}

}  // namespace troupe
