// node_runtime spawns and wires the actors of one node as the cluster file says. It owns the node's post,
// data lane, slot pool and catalogs. It is the same on real, emulated and simulated nodes: the parts that
// differ come with the node environment (kinds/node_environment.hpp).
#pragma once
#include <atomic>

#include "actors/frontend/frontend.hpp"
#include "actors/kinds/model_queues.hpp"
#include "actors/kinds/node_environment.hpp"
#include "actors/llm/catalog.hpp"
#include "actors/runtime/node_memory.hpp"
#include "actors/runtime/post.hpp"
#include "actors/tensor/catalog.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/data_lane/data_lane.hpp"
#include "transport/memory/slot_pool.hpp"

namespace troupe {

class node_runtime final : public frontend {
 public:
  /// Spawns the actors and starts the data lane. `cluster` and the parts outlive the runtime.
  node_runtime(const cluster_spec& cluster, node_id self, const node_environment& env);
  ~node_runtime() override;
  node_runtime(const node_runtime&) = delete;
  node_runtime& operator=(const node_runtime&) = delete;

  slot_pool& pool() override { return pool_; }
  const catalog& models() const override { return catalog_; }
  const llm_catalog& language_models() const override { return language_models_; }
  request_id next_request_id() override;
  void to_gateway(actor_message message) override;
  void to_llm_gateway(actor_message message) override;

  troupe::post& post() { return post_; }
  const node_protocol& node_actor() const { return node_; }
  const deployer_protocol& deployer_actor() const { return deployer_; }
  data_lane& lane() { return lane_; }

  /// Ends all actors; nothing is delivered afterwards. In simulation the CAF hosts exit when the world
  /// settles next.
  void stop();

 private:
  void spawn_groups(const node_environment& env);

  const cluster_spec& cluster_;
  const node_id self_;
  troupe::post post_;
  data_lane lane_;
  slot_pool pool_;
  node_memory memory_;
  catalog catalog_;
  llm_catalog language_models_;
  tenant_limiter tenants_;
  node_protocol node_;
  deployer_protocol deployer_;
  model_queues queues_;  ///< used by the node actor only, once that runs
  std::atomic<uint64_t> next_request_{1};
  bool stopped_ = false;
};

}  // namespace troupe
