#include "actors/kinds/model_queues.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <utility>

#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/queue_policy.hpp"
#include "policies/scaling/autoscale_advice.hpp"

namespace troupe {

bool arbiter_places_models(const cluster_spec& cluster) { return cluster.policy.matchmaking == "nexus"; }

model_queues::model_queues(const cluster_spec& cluster, node_id self, const data_lane& lane, post& post)
    : cluster_(cluster), self_(self), lane_(lane), post_(post) {
  for (uint32_t i = 0; i < cluster.models.size(); ++i) ++queues_of_files_[files_of(cluster, model_id{i})];
}

void model_queues::spawn(const spawn_context& node) {
  node.hosts.expect_queues();
  for (uint32_t i = 0; i < cluster_.models.size(); ++i) {
    const auto& m = cluster_.models[i];
    auto& group = node.hosts.of_queue(i);
    group.adopt(make({0, model_id{i}, deployment_state::deployed, m, m.domain}, group));
    queues_[model_id{i}] = m;
  }
}

bool model_queues::keep(const deployment& line) {
  if (!cluster_.nodes[self_.value].schedules()) return false;
  if (line.wanted == deployment_state::retiring) return false;
  const bool wanted = line.wanted == deployment_state::deployed;
  const auto known = queues_.find(line.model);
  if (wanted && known != queues_.end() && known->second == line.definition) return false;
  if (wanted)
    queues_[line.model] = line.definition;
  else if (known != queues_.end())
    queues_.erase(known);
  caf::anon_send(post_.queue_caf_host(line.model),
                 regrouping{[this, line, wanted](actor_group& g, time_point now) {
                   g.remove(role::model_queue, line.model.value, now);
                   if (wanted) g.adopt(make(line, g));
                 }});
  return wanted;
}

std::unique_ptr<actor> model_queues::make(const deployment& line, outbox& out) const {
  const auto& m = line.definition;
  model_queue::options o;
  o.model = line.model;
  o.name = m.name;
  o.arbiter = {self_, {}, role::rank_arbiter, line.domain};
  o.elected = has_standby(cluster_);
  o.term = term_id{o.elected ? 0 : lane_.incarnation().value};
  o.network = cluster_.policy.network;
  o.max_queued_rows = cluster_.limits.queue_rows;
  const auto alike = queues_of_files_.find(files_of(cluster_, line.model));
  if (alike != queues_of_files_.end()) o.queues = alike->second;
  o.margin = cluster_.policy.margin;
  o.first_batch = (line.revision << 32) + 1;
  o.slot_domains = slot_domains(cluster_);
  for (const auto& s : cluster_.slots) o.slot_nodes.push_back(s.node);
  o.join_timeout = cluster_.limits.join_timeout();
  for (const auto& d : cluster_.domains) o.domain_names.push_back(d.name);
  if (line.wanted == deployment_state::deployed) o.leaving = line.leaving;
  o.revision = line.revision;
  o.latency_given = m.latency != latency_model{} || m.any_shape;
  o.decision_log = cluster_.policy.decision_log;
  if (arbiter_places_models(cluster_)) o.load_report = 500ms;
  if (cluster_.autoscale.mode != autoscale_mode::off)
    o.load_report = cluster_.autoscale.window / (2 * autoscale_advice::samples);
  o.batching = cluster_.policy.batching;
  o.shedding = cluster_.policy.shedding;
  o.parameters = parameters_of(cluster_, m);
  return std::make_unique<model_queue>(
      address{self_, lane_.incarnation(), role::model_queue, line.model.value}, out, o,
      make_policy(cluster_, m));
}

}  // namespace troupe
