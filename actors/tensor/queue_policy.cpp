#include "actors/tensor/queue_policy.hpp"

#include <algorithm>
#include <stdexcept>

#include "actors/common/planted_bug.hpp"
#include "policies/registry/batchings.hpp"

namespace troupe {

batching_parameters parameters_of(const cluster_spec& cluster, const model_spec& model) {
  batching_parameters p;
  p.latency = model.latency;
  p.network = cluster.policy.network;
  p.slo = model.slo;
  // The margin counts twice: a worker may start this late (model_queue), and the scheduler may wake this late
  // before it. Without the second margin, a batch of cheap rows, planned α before its latest start, is
  // dropped by its own timer.
  p.response = cluster.policy.response + cluster.policy.margin;
  p.margin = cluster.policy.margin;
  if (!planted(bug::any_size)) p.max_rows = model.max_batch;
  p.settings = cluster.policy.batching_settings;
  const auto domains = slot_domains(cluster);
  const auto slots = std::count(domains.begin(), domains.end(), model.domain);
  p.slots = std::max<uint32_t>(1, static_cast<uint32_t>(slots));
  p.by_shape = model.any_shape && !planted(bug::mixed_shapes);
  // Half of the time that the SLO leaves to a request alone, so that no estimate makes all requests
  // infeasible.
  if (model.any_shape && model.latency == latency_model{})
    p.max_learned_latency = std::max<duration>(1us, (model.slo - p.network(1) - p.response) / 2);
  return p;
}

std::unique_ptr<batching_policy> make_policy(const cluster_spec& cluster, const model_spec& model) {
  const auto& chosen = cluster.policy;
  auto why = std::string("it returned none");
  try {
    if (auto made = make_batching(chosen.batching, chosen.shedding, parameters_of(cluster, model)))
      return made;
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "an exception of an unknown type";
  }
  throw std::runtime_error("model '" + model.name + "': cannot create the batching policy '" +
                           chosen.batching + "': " + why);
}

}  // namespace troupe
