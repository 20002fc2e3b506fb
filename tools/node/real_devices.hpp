// The devices of a real node, for its execution slots and its engines.
#pragma once
#include <atomic>
#include <optional>

#include "actors/kinds/node_environment.hpp"
#include "actors/runtime/post.hpp"
#include "messages/cluster/cluster.hpp"
#include "tools/node/device_pool.hpp"
#include "tools/node/llm_device_pool.hpp"
#include "tools/node/node_images.hpp"

namespace troupe {

class real_devices {
 public:
  /// `cluster` and `time` must outlive the object. Throws model_error if a model that scales is not readable.
  real_devices(const cluster_spec& cluster, node_id self, const clock& time);

  device_part part();
  /// From now on a device that must be polled notifies its actor through `post`. Engines also get one
  /// notification at once, for events before this call. `post` must live until `clear()`.
  void connect(post& post);

  /// Whether a model is being loaded onto a slot, which cannot be interrupted and may take minutes.
  bool is_loading() { return slots_.is_loading(); }
  void stop_loading() { slots_.stop_loading(); }
  /// Waits for running batches and steps, and destroys the devices.
  void clear();

 private:
  void notify(role kind, uint32_t index);

  const cluster_spec& cluster_;
  const node_id self_;
  const clock& time_;
  std::atomic<post*> post_{nullptr};  // set before the first batch starts
  node_images images_;
  device_pool slots_;
  std::optional<llm_device_pool> engines_;
};

}  // namespace troupe
