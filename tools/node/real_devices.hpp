// The devices of a real node: of its execution slots and of its engines.
#pragma once
#include <atomic>

#include "actors/kinds/node_environment.hpp"
#include "actors/runtime/post.hpp"
#include "messages/cluster/cluster.hpp"
#include "tools/node/device_pool.hpp"
#include "tools/node/llm_device_pool.hpp"

namespace troupe {

class real_devices {
 public:
  /// The devices of engines begin to load at once. `cluster` and `time` outlive it. Throws for a GPU that is
  /// not there.
  real_devices(const cluster_spec& cluster, node_id self, const clock& time);

  device_part part();
  /// Devices tell their actors through `post` from now on when there is something to poll; engines are also
  /// told of what their devices had to say before. `post` lives until `clear()`.
  void connect(post& post);

  /// A load is under way, which cannot be interrupted and may take minutes.
  bool is_loading() { return slots_.is_loading(); }
  void stop_loading() { slots_.stop_loading(); }
  /// Waits for batches and steps that run, and ends the devices.
  void clear();

 private:
  void notify(role kind, uint32_t index);

  const cluster_spec& cluster_;
  const node_id self_;
  std::atomic<post*> post_{nullptr};  // set before any device is told to start a batch
  device_pool slots_;
  llm_device_pool engines_;
};

}  // namespace troupe
