// node_runtime: the actors of one node, spawned and wired as the cluster file says. The same in every
// environment; what differs (clock, fabric, control lane, devices, how CAF hosts are spawned) is handed in.
#pragma once
#include <caf/actor_system.hpp>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "actors/cluster/deployer.hpp"
#include "actors/cluster/node.hpp"
#include "actors/frontend/frontend.hpp"
#include "actors/llm/engine.hpp"
#include "actors/llm/gateway.hpp"
#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/control_lane.hpp"
#include "actors/runtime/node_memory.hpp"
#include "actors/runtime/post.hpp"
#include "actors/tensor/catalog.hpp"
#include "actors/tensor/gateway.hpp"
#include "gpu/device/device.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/data_lane/data_lane.hpp"
#include "transport/memory/slot_pool.hpp"

namespace troupe {

class node_runtime final : public frontend {
 public:
  struct environment {
    caf::actor_system& system;
    const clock& time;
    fabric& carrier;
    control_lane& control;
    client_port& clients;  ///< used on gateways only
    /// The device of a slot of this node; it lives as long as the runtime.
    std::function<device&(slot_id)> device_of;
    model_loader& devices;  ///< that loads models onto them; used on workers only
    std::function<caf::actor(std::unique_ptr<actor_group>, on_broken)> spawn_caf_host;
    bool caf_host_per_actor = false;  ///< simulation: more interleavings
    wake_service wake;
    std::function<incarnation_id(incarnation_id last)> next_incarnation;
    std::function<uint64_t(incarnation_id incarnation)>
        secret_of;  ///< random: the data lane's, of an incarnation of this node
    std::function<void(bool)> on_ready;
    std::function<void()> on_drained;
    std::function<void(std::string)> on_refused;
    on_broken broken;  ///< an actor threw: the process should end
    std::function<deployer::model_reading(const std::string&)> read_model;
    std::function<void()> begin_drain;             ///< asked for by a command; as SIGTERM does
    std::function<void(std::string)> on_unusable;  ///< a model of the cluster file cannot be loaded
    completion_port* completions = nullptr;        ///< used on gateways of a cluster with language models
    /// The device of an engine of this node; it lives as long as the runtime.
    std::function<llm::engine_device&(engine_id)> engine_device_of = {};
    /// The adapters that this node has for a language model from the beginning.
    std::function<std::vector<adapter_entry>(llm_id)> adapters_of = {};
  };

  /// Spawns the actors and starts the data lane. `cluster` outlives the runtime.
  node_runtime(const cluster_spec& cluster, node_id self, environment env);
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

  /// Ends all actors; nothing is delivered afterwards. In simulation the CAF hosts die at the next settling.
  void stop();

 private:
  void spawn_actors(const environment& env);
  llm_engine::options engine_options(engine_id id, const environment& env) const;
  std::unique_ptr<actor> make_queue(const deployment& line, outbox& out) const;
  bool keep_queue(const deployment& line);

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
  std::map<model_id, model_spec> queues_;  ///< that live here; the node actor's once it runs
  std::atomic<uint64_t> next_request_{1};
  bool stopped_ = false;
};

}  // namespace troupe
