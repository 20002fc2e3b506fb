// The state of a simulated world: its nodes, their environments, and the observations for the checkers. Only
// world*.cpp include this.
#pragma once
#include <caf/actor_system.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <memory>
#include <set>
#include <vector>

#include "actors/runtime/system_config.hpp"
#include "tools/sim/administrator.hpp"
#include "tools/sim/clients.hpp"
#include "tools/sim/handover_log.hpp"
#include "tools/sim/invariants.hpp"
#include "tools/sim/order_log.hpp"
#include "tools/sim/process.hpp"
#include "tools/sim/recording.hpp"
#include "tools/sim/timeline.hpp"
#include "tools/sim/trace.hpp"
#include "tools/sim/world.hpp"

namespace troupe::sim {

struct world::state final : device_watch {
  state(cluster_spec c, workload_spec w, const world_options& o);
  ~state() override;

  struct member {
    sim_clock clock;
    std::unique_ptr<process> running;
    incarnation_id incarnation;  ///< the latest
  };

  // the run, phase by phase (world.cpp)
  void start_cluster();
  void play();
  void drain();
  void check_end();
  bool ready() const;
  void run_until(duration t);
  /// Runs ready actors, in an order chosen by the seed, until none is ready.
  void settle();

  // processes of nodes (world_processes.cpp)
  node_runtime* runtime_of(node_id n) {
    return nodes[n.value].running ? &nodes[n.value].running->runtime() : nullptr;
  }
  void begin_process(node_id id);
  void end_process(node_id id, bool reset);
  /// The process on the node dies; it is restarted as by `troupe up`.
  void die(node_id id);
  /// The node has drained, and its process ends.
  void drained(node_id id);
  /// In the simulation the text of a model's definition is just its name.
  deployer::model_reading model_named(const std::string& name) const;
  /// Of a model; of one that learns its latency, whose definition has none, by the workload.
  latency_model latency_on_devices(const model_spec& m) const;

  // faults (world_faults.cpp)
  void begin_fault(const fault_spec& f);
  void set_disk_slowness(node_id id, double factor);
  bool hits_transfer(const fault_spec& f, node_id from, node_id to) const;
  void count_hit_transfers(const fault_spec& f, duration until);
  void count_faults_of_handover(const handover_log::transfer& t);
  void count_faults_of_transfer(node_id at, const place_copy& order);
  void end_fault(const fault_spec& f);

  // observations (world_watch.cpp)
  void delivered(node_id at, role group, const envelope& e);
  void sent(node_id by, std::span<const envelope> together);
  void batch_started(slot_id slot, const batch_work& work, time_point now) override;
  void batch_ended(slot_id slot, model_id model, uint32_t rows, duration took, bool stopped) override;
  void started_while_running(slot_id slot) override { checks.slots.started_while_running(slot); }
  void started_unloaded(slot_id slot, model_id model) override {
    checks.loaded.started_unloaded(slot, model);
  }
  void unloaded_while_running(slot_id slot, model_id model) override {
    checks.loaded.unloaded_while_running(slot, model);
  }
  void check_ledger(node_id id);
  void check_ledgers();
  void record();
  void ask_why();
  void watch_scale();
  void watch_engines();
  void check_sequences(node_id id);
  void check_drop(node_id at, weights_id model);
  /// Runs until every model has the instances that are wanted, or for some seconds at most. Without effect
  /// if some nodes have died for good.
  void check_instances();
  /// The decisions of scale planners.
  void check_scaling();
  bool learn_pool();
  std::string problem_with_instances() const;
  /// An actor's reply; not `ok` without one.
  command_reply ask(const address& to, const std::string& type, const std::string& fields);

  // orders to scale, and what comes of them (world_scaling.cpp)
  void scale();
  void images_complete(node_id at);
  void engine_reported(const engine_status& s);
  struct image_traffic {
    uint64_t network = 0, scale_up = 0, host = 0, ssd = 0, unspecified = 0;
  };
  image_traffic moved_images() const;
  void end_scaling();

  const world_options options;
  const workload_spec workload;
  const cluster_spec cluster;
  const std::vector<model_spec> models;  ///< of the workload's loads
  stepped_config config;
  caf::actor_system system;
  caf::scheduler::test_coordinator& scheduler;
  timeline time;
  sim_network network;
  sim_memory memory;
  random_stream interleaving, chance;
  trace tracing;
  invariants checks;
  const bool everybody_reachable;  ///< no fault separates nodes from each other
  order_log orders;
  fault_log hits;
  handover_log handovers;
  recording recorded;
  clients asking;
  llm_clients reading;
  llm_operator disturbing;
  administrator changing;
  std::vector<member> nodes;
  uint64_t processes = 0;                      ///< begun so far
  std::map<weights_id, duration> holder_died;  ///< when a process with all images of the model last ended
  duration faults_end{};
  duration scaled_at{};                                        ///< true time of the orders to scale
  image_traffic before_scaling;                                ///< bytes at that time
  std::set<engine_id> known_ready;                             ///< engines that some router knew to serve
  std::vector<std::pair<fault_spec, duration>> active_faults;  ///< and until when
  duration measured_from = duration::max(), measured_until = duration::max();
  world_result result;
};

}  // namespace troupe::sim
