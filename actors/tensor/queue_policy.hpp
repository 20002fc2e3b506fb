// The batching policy of a model's queue, made from the cluster file and the model's definition.
#pragma once
#include <memory>

#include "messages/cluster/cluster.hpp"
#include "policies/batching/batching.hpp"

namespace troupe {

batching_parameters parameters_of(const cluster_spec& cluster, const model_spec& model);

/// Never null. Throws std::runtime_error with the model's name and the reason if a plug-in refuses the model.
std::unique_ptr<batching_policy> make_policy(const cluster_spec& cluster, const model_spec& model);

}  // namespace troupe
