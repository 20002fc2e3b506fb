#include "actors/tensor/queue_policy.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "policies/batching/eager.hpp"
#include "policies/registry/batchings.hpp"

using namespace troupe;

namespace {

/// A policy of a plug-in: null for models of more than eight rows, an exception for those of none.
std::unique_ptr<batching_policy> small_only(const batching_parameters& p, shedding rule) {
  if (p.max_rows == 0) throw std::runtime_error("a batch has rows");
  return p.max_rows > 8 ? nullptr : std::make_unique<eager>(p, rule);
}

}  // namespace

TEST_CASE("queue_policy: a plug-in's refusal is reported with the model and the reason") {
  batchings().add("small only", small_only);
  cluster_spec cluster;
  cluster.policy.batching = "small only";
  model_spec m;
  m.name = "resnet";
  m.max_batch = 8;
  CHECK(make_policy(cluster, m) != nullptr);
  m.max_batch = 9;
  CHECK_THROWS_WITH(make_policy(cluster, m),
                    "model 'resnet': cannot create the batching policy 'small only': it returned none");
  m.max_batch = 0;
  CHECK_THROWS_WITH(make_policy(cluster, m),
                    "model 'resnet': cannot create the batching policy 'small only': a batch has rows");
}
