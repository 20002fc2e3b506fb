// One process of a simulated node, from its start to its death: a node_runtime on simulated lanes and
// devices.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "actors/node_runtime.hpp"
#include "gpu/llm/emulated_engine_device.hpp"
#include "tools/sim/images.hpp"
#include "tools/sim/timeline.hpp"
#include "tools/sim/watched_device.hpp"
#include "transport/fabric/sim_fabric.hpp"

namespace troupe::sim {

class process final : private control_lane, private sim_port, private model_loader {
 public:
  struct environment {
    caf::actor_system& system;
    const cluster_spec& cluster;
    timeline& time;
    sim_network& network;
    sim_memory& memory;
    const sim_clock& clock;
    client_port& clients;
    completion_port& completions;
    device_watch& devices;
    /// `group`: kind of the first actor in the group that gets the message.
    std::function<void(node_id, role group, const envelope&)> delivered;
    /// Messages that leave a group of actors together, before they do.
    std::function<void(node_id, std::span<const envelope>)> sent;
    std::function<incarnation_id(incarnation_id last)> next_incarnation;
    on_broken broken;
    std::function<void()> drained;
    std::function<void(std::string)> wrong_weights;  ///< an engine got an image with wrong bytes
    std::function<void(std::string)> misused;  ///< an engine started a step before its layers were there
    std::function<deployer::model_reading(const std::string&)> read_model;
    std::function<latency_model(const model_spec&)> latency_of;  ///< on the devices
    uint64_t seed = 1;
    bool caf_host_per_actor = true;
    duration turn_interval{};  ///< as in `caf_host_timing`
    uint32_t steps_ahead = 1;  ///< as in `world_options`
    const image_sizes& image_size;
    std::function<void(weights_id)> images_complete;
  };

  /// Precondition: the node's process has begun on the timeline. `number` is unique.
  process(node_id self, uint64_t number, const environment& env);
  ~process() override;
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  bool ready() const { return ready_; }
  uint64_t number() const { return number_; }
  node_runtime& runtime() { return *runtime_; }
  size_t running_batches() const;
  sim_images& images() { return images_; }
  /// Stops the actors. The process may be destroyed once they have ended.
  void kill() { runtime_->stop(); }

 private:
  struct alarm {
    process* owner = nullptr;
    caf::actor who;
    time_point due = never;
    time_point scheduled = never;  ///< time of the event on the timeline, at most `due`
  };

  /// The sink of the node's actor groups.
  struct watched_sink final : message_sink {
    watched_sink(process& p, message_sink& to) : owner(p), beyond(to) {}
    void carry(std::span<envelope> messages) override {
      owner.environment_.sent(owner.self_, messages);
      beyond.carry(messages);
    }
    process& owner;
    message_sink& beyond;
  };

  // parts of the node environment
  wake_service waker();
  fabric_part fabric_part_of(const environment& env);
  std::function<caf::actor(std::unique_ptr<actor_group>, on_broken)> scheduled_hosts();
  device_part device_part_of(const environment& env);
  process_part process_part_of(const environment& env);

  void open_engines(registered_memory kv_arena);
  std::unique_ptr<llm::engine_device> make_engine(engine_id id, const llm::image_allocator& kv_memory);
  void send(control_frame frame) override;
  void receive(node_id from, std::span<sim_packet> packets) override;
  void broken(node_id, duration) override {}  // the data lane or the failure detector notices
  void wake(const caf::actor& who, time_point due);
  void schedule(alarm& a, time_point t);
  void load(const deployment& line, std::function<void(load_outcome)> done) override;
  void check_files(model_id model);

  const node_id self_;
  const uint64_t number_;
  const environment environment_;
  std::unique_ptr<fabric> fabric_;
  std::map<slot_id, watched_device> devices_;
  sim_images images_;
  std::map<engine_id, std::unique_ptr<llm::engine_device>> engines_;
  std::unordered_map<caf::actor_id, alarm> alarms_;
  std::optional<watched_sink> sink_;
  std::unique_ptr<node_runtime> runtime_;
  bool ready_ = false;
};

}  // namespace troupe::sim
