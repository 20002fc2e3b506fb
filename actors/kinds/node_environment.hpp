// The parts that a node is built on. Real, emulated and simulated nodes supply their own implementations
// (tools/node/serve_node.cpp, tools/sim/process.cpp); all other code of a node is the same.
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
#include "gpu/llm/image_store.hpp"
#include "messages/common/ids.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// The node's clock, and the service that wakes actors at its times.
struct clock_part {
  const clock& time;
  wake_service wake;
};

/// The fabric below the data lane, and the incarnations of this node on it.
struct fabric_part {
  fabric& carrier;
  /// Returns an incarnation above `last` and all earlier ones of this node. `last` is 0 for the first of the
  /// process.
  std::function<incarnation_id(incarnation_id last)> next_incarnation;
  /// Random number that peers put into every frame to this incarnation of the node.
  std::function<uint64_t(incarnation_id incarnation)> secret_of;
};

/// The CAF hosts that actor groups run on.
struct caf_host_part {
  caf::actor_system& system;
  std::function<caf::actor(std::unique_ptr<actor_group>, on_broken)> spawn;
  bool one_per_actor = false;  ///< in simulation, for more interleavings
  /// In simulation: watches the messages that leave groups, on their way to the sink that it is given. It
  /// outlives the groups.
  std::function<message_sink&(message_sink& beyond)> watch_sent = {};
};

/// The devices of this node. They outlive its actors.
struct device_part {
  std::function<device&(slot_id)> of_slot;
  model_loader& loader;                                          ///< used on workers only
  std::function<llm::engine_device&(engine_id)> of_engine = {};  ///< null: the node runs no engines
  /// The adapters that this node has for a language model at its start.
  std::function<std::vector<adapter_entry>(llm_id)> adapters_of = {};
  llm::image_store* images = nullptr;  ///< of models that scale; null: the node has none of them
  // Called once each, before the actors are spawned.
  /// Where the store puts images that peers may pull.
  std::function<void(registered_memory)> use_arena = {};
  /// Opens the devices of engines, with the KV caches that peers may pull from in this memory.
  std::function<void(registered_memory)> open_engines = {};
};

/// Receivers of the gateways' answers.
struct client_part {
  client_port& requests;                   ///< used on gateways only
  completion_port* completions = nullptr;  ///< null: the node has no LLM gateway
  time_point unix_epoch{};                 ///< 1970, by the node's clock
};

/// The process around the node. The functions are called from threads of actors and loaders.
struct process_part {
  std::function<void(bool)> on_ready;  ///< true: all nodes are up and all models are served; false: no longer
  std::function<void()> on_drained;
  std::function<void(std::string)> on_refused;  ///< permanently, by a peer: other cluster file or version
  /// A model of the cluster file cannot be loaded; `transient`: not because of its files.
  std::function<void(std::string, bool transient)> on_unusable;
  on_broken broken;                   ///< an actor threw; the process should end
  std::function<void()> begin_drain;  ///< by a command, as on SIGTERM
  /// Parses and checks a model definition of the cluster file's format.
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
