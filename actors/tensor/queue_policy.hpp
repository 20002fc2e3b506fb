// The batching policy of a model's queue, as the cluster file and the model's definition say.
#pragma once
#include <memory>

#include "messages/cluster/cluster.hpp"
#include "policies/batching/batching.hpp"

namespace troupe {

batching_parameters parameters_of(const cluster_spec& cluster, const model_spec& model);

/// Throws std::runtime_error if a plug-in will not make one for this model.
std::unique_ptr<batching_policy> make_policy(const cluster_spec& cluster, const model_spec& model);

}  // namespace troupe
