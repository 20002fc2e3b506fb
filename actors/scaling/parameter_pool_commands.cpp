// The commands and metrics of parameter_pool.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "actors/scaling/parameter_pool.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

parameter_pool::next_steps parameter_pool::plan(const scaled& model, uint32_t instances, uint32_t prefill,
                                                time_point now) const {
  auto v = pending_orders(pending_).expected(reported(now));
  std::erase_if(v.models, [](const auto& other) { return are_model_files(other.id); });
  for (auto& other : v.models)
    if (other.id == weights_of(model.id)) other.wanted = instances, other.prefill = prefill;
  auto choice = choose_instances(v);
  auto copies = plan_copies(v, targets(v, choice), rates_);
  return {std::move(choice), std::move(copies)};
}

void parameter_pool::order(scaled& model, uint32_t instances, uint32_t prefill) {
  spdlog::info("event=scale model={} instances={} prefill={}", cluster_.llms[model.id.value].name, instances,
               prefill);
  model.wanted = instances;
  model.prefill = prefill;
  changed_ = true;
  reconciled_at_ = long_ago;  // now
}

scaling_plan parameter_pool::scale(const scale_model& asked, time_point now) {
  if (!leads_)
    throw command_refused("scale_model: node '" + node_name(cluster_, self_.node) + "' is not the leader");
  const auto refuse = [&](const std::string& why) { throw command_refused("scale_model: " + why); };
  const auto file = std::ranges::find(cluster_.llms, asked.model, &llm_spec::name);
  if (file == cluster_.llms.end()) refuse(fmt::format("the cluster file has no [[llm]] '{}'", asked.model));
  const auto id = llm_id{static_cast<uint32_t>(file - cluster_.llms.begin())};
  const auto m = std::ranges::find(models_, id, &scaled::id);
  if (m == models_.end())
    refuse(fmt::format("'{}' does not scale: give its [[llm]] the key instances", asked.model));
  if (asked.instances < file->min_instances || asked.instances > file->max_instances)
    refuse(fmt::format("'{}' has {} to {} instances by min_instances and max_instances, not {}", asked.model,
                       file->min_instances, file->max_instances, asked.instances));
  if (file->disaggregated() ? asked.instances > 0 && (asked.prefill == 0 || asked.prefill >= asked.instances)
                            : asked.prefill > 0)
    refuse(file->disaggregated()
               ? fmt::format("'{}' is disaggregated: of {} instances at least one prefills, and one decodes",
                             asked.model, asked.instances)
               : fmt::format("'{}' is not disaggregated: its instances do not prefill only", asked.model));
  if (!m->wanted || is_learning(now)) refuse("the leader does not know all nodes yet; try again in a second");
  const auto steps = plan(*m, asked.instances, asked.prefill, now);
  if (const auto& choice = steps.instances; std::ranges::count(choice.short_of_places, weights_of(id)) > 0) {
    const auto v = pending_orders(pending_).expected(reported(now));
    const auto usable = std::ranges::count_if(v.places, [&](const auto& p) {
      const bool serves =
          p.stage == instance_stage::serving || std::ranges::count(choice.starting, p.engine) > 0;
      return p.model == weights_of(id) && serves && !p.unusable && !v.find(p.node)->leaving;
    });
    refuse(
        fmt::format("only {} of the {} places of '{}' can serve: the others' nodes are away, full or cannot "
                    "load it",
                    usable, engines_of(cluster_, id).size(), asked.model));
  }
  if (!asked.dry_run) order(*m, asked.instances, asked.prefill);
  return describe(steps);
}

/// Unlike an operator's, its order may ask for more instances than there are places: they start when places
/// become free.
void parameter_pool::on_planner(const order_instances& o, time_point now) {
  const auto m = std::ranges::find(models_, o.model, &scaled::id);
  if (m == models_.end()) return;
  if (!leads_ || !m->wanted || is_learning(now)) {
    m->told.reset();  // so that the planner learns that nothing was ordered
    return;
  }
  const auto steps = plan(*m, o.instances, o.prefill, now);
  send(on_node(self_.node, role::scale_planner), instances_ordered{o.model, o.instances, describe(steps)});
  if (!o.dry_run) order(*m, o.instances, o.prefill);
}

scaling_plan parameter_pool::describe(const next_steps& s) const {
  const auto& c = s.instances;
  const auto& p = s.copies;
  scaling_plan out;
  const auto finish_of = [&](node_id n, llm_id m) {
    for (const auto& place : p.places)
      if (place.node == n && place.model == weights_of(m)) return to_seconds(place.finish);
    return 0.0;
  };
  std::set<engine_id> starts(c.starting.begin(), c.starting.end());
  for (const auto& o : c.orders) {
    if (o.to == instance_stage::serving)
      starts.insert(o.engine);
    else
      out.stops.push_back(o.engine.value);
  }
  for (const auto id : starts) {
    const auto& e = cluster_.engines[id.value];
    out.starts.push_back({id.value, node_name(cluster_, e.node), finish_of(e.node, e.model)});
  }
  for (const auto& place : p.places) {
    const auto& name = node_name(cluster_, place.node);
    if (place.from == place.node) {
      out.reads.push_back(name);
      continue;
    }
    const auto& from = node_name(cluster_, place.from);
    const auto chain =
        std::ranges::find_if(out.chains, [&](const chain_state& k) { return k.nodes.back() == from; });
    if (chain != out.chains.end())
      chain->nodes.push_back(name);
    else
      out.chains.push_back({{from, name}});
  }
  return out;
}

parameter_pool_state parameter_pool::describe() const {
  parameter_pool_state s;
  s.leads = leads_;
  s.copies_placed = placed_, s.copies_dropped = dropped_, s.relinked = relinked_;
  for (const auto& m : models_)
    if (m.wanted) s.wanted.push_back({cluster_.llms[m.id.value].name, *m.wanted, m.prefill});
  for (uint32_t i = 0; i < cluster_.engines.size(); ++i) {
    const auto& e = cluster_.engines[i];
    if (!cluster_.llms[e.model.value].scales) continue;
    const auto known = engines_.find(engine_id{i});
    s.instances.push_back({cluster_.llms[e.model.value].name, i, node_name(cluster_, e.node),
                           known == engines_.end()  ? "away"
                           : known->second.unusable ? "unusable"
                                                    : std::string(to_string(known->second.stage)),
                           known == engines_.end() ? "" : std::string(to_string(known->second.phase))});
  }
  for (const auto& [node, shard] : shards_)
    for (const auto& i : shard.images)
      s.copies.push_back({names_.of(i.model), node_name(cluster_, node), i.chunks, i.ready,
                          !i.filling       ? ""
                          : i.from == node ? are_model_files(i.model) ? "disk" : "checkpoint"
                                           : node_name(cluster_, i.from),
                          i.bytes, i.pulled, i.repeated, i.problem});
  for (const auto& [from, to, rate] : rates_.measured_links())
    s.links.push_back({node_name(cluster_, from), node_name(cluster_, to), rate});
  for (uint32_t n = 0; n < cluster_.nodes.size(); ++n)
    if (const auto rate = rates_.measured_disk_gbit_per_s({n}); rate > 0)
      s.disks.push_back({cluster_.nodes[n].name, rate});
  return s;
}

command_reply parameter_pool::on_command(const command& c, time_point now) {
  return run_command(parameter_pool_commands{}, c,
                     overloaded{[&](const get_state&) { return describe(); },
                                [&](const scale_model& s) { return scale(s, now); }});
}

void parameter_pool::report(std::vector<metric>& out) const {
  using enum metric::kind;
  if (!leads_) return;
  std::vector<uint32_t> serving(cluster_.llms.size());
  for (const auto& [id, e] : engines_)
    if (e.stage == instance_stage::serving) ++serving[cluster_.engines[id.value].model.value];
  for (const auto& m : models_) {
    const auto& name = cluster_.llms[m.id.value].name;
    out.push_back({"troupe_instances", {{"model", name}}, static_cast<double>(serving[m.id.value]), gauge});
    out.push_back(
        {"troupe_instances_wanted", {{"model", name}}, static_cast<double>(m.wanted.value_or(0)), gauge});
  }
  const auto measured = describe();
  for (const auto& l : measured.links)
    out.push_back({"troupe_link_gbit_per_s", {{"from", l.from}, {"to", l.to}}, l.gbit_per_s, gauge});
  for (const auto& d : measured.disks)
    out.push_back({"troupe_disk_gbit_per_s", {{"node", d.node}}, d.gbit_per_s, gauge});
  out.push_back({"troupe_copies_placed_total", {}, static_cast<double>(placed_), counter});
  out.push_back({"troupe_copies_dropped_total", {}, static_cast<double>(dropped_), counter});
  out.push_back({"troupe_copies_relinked_total", {}, static_cast<double>(relinked_), counter});
}

}  // namespace troupe
