// The parts that a node is built on. Real, emulated and simulated nodes fill in the same list with parts of
// their own (tools/node/serve_node.cpp, tools/sim/process.cpp); everything else about a node is the same.
#pragma once
#include <caf/actor_system.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/cluster/deployer.hpp"
#include "actors/llm/gateway.hpp"
#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/control_lane.hpp"
#include "actors/runtime/model_loader.hpp"
#include "actors/tensor/gateway.hpp"
#include "gpu/device/device.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/common/ids.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// The node's clock, and what calls actors back at its times.
struct clock_part {
  const clock& time;
  wake_service wake;
};

/// What carries the data lane, and the incarnations under which this node appears on it.
struct fabric_part {
  fabric& carrier;
  /// Larger than `last` and than any earlier one of this node; `last` 0: the first of this process.
  std::function<incarnation_id(incarnation_id last)> next_incarnation;
  /// Random: what peers show in every frame to an incarnation of this node.
  std::function<uint64_t(incarnation_id incarnation)> secret_of;
};

/// The threads that actor groups run on.
struct caf_host_part {
  caf::actor_system& system;
  std::function<caf::actor(std::unique_ptr<actor_group>, on_broken)> spawn;
  bool one_per_actor = false;  ///< simulation: more interleavings
};

/// The devices of this node. They live as long as its actors.
struct device_part {
  std::function<device&(slot_id)> of_slot;
  model_loader& loader;  ///< of models onto the devices of slots; used on workers only
  std::function<llm::engine_device&(engine_id)> of_engine = {};  ///< none: the node runs no engines
  /// The adapters that this node has for a language model from the beginning.
  std::function<std::vector<adapter_entry>(llm_id)> adapters_of = {};
};

/// Who gets the answers of gateways.
struct client_part {
  client_port& requests;                   ///< used on gateways only
  completion_port* completions = nullptr;  ///< used on gateways of a cluster with language models
};

/// The process around the node. The functions are called from threads of actors and loaders.
struct process_part {
  std::function<void(bool)> on_ready;  ///< all nodes are up and all models served, or no longer
  std::function<void()> on_drained;
  std::function<void(std::string)> on_refused;   ///< by the cluster, for good: another file or version
  std::function<void(std::string)> on_unusable;  ///< a model of the cluster file cannot be loaded
  on_broken broken;                              ///< an actor threw: the process should end
  std::function<void()> begin_drain;             ///< asked for by a command; as SIGTERM does
  /// What a text of a deployment comes to mean as a model.
  std::function<deployer::model_reading(const std::string&)> read_model;
};

struct node_environment {
  clock_part clock;
  fabric_part fabric;
  control_lane& control;
  caf_host_part hosts;
  device_part devices;
  client_part clients;
  process_part process;
};

}  // namespace troupe
