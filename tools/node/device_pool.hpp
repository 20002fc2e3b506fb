// The devices of one real node, and the thread that loads models onto them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "actors/runtime/model_loader.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

class device_pool final : public model_loader {
 public:
  /// `ready(slot)` is called from a device's thread when there is something to poll. `cluster` and `time`
  /// outlive the pool. Throws model_error for a GPU that is not there.
  device_pool(const cluster_spec& cluster, node_id self, const clock& time,
              std::function<void(slot_id)> ready);
  ~device_pool() override;

  device& at(slot_id slot) { return *devices_.at(slot); }
  void load(const deployment& line, std::function<void(load_outcome)> done) override;

  /// Waits for the device that is being loaded, if one is; nothing is told afterwards.
  void stop_loading();
  /// A load is under way, which cannot be interrupted.
  bool is_loading();
  /// Waits for batches that run, and ends the devices.
  void clear() { devices_.clear(); }

 private:
  struct job {
    deployment line;
    std::function<void(load_outcome)> done;
  };
  void loop();
  void run(const job& j);

  const cluster_spec& cluster_;
  std::map<slot_id, std::unique_ptr<device>> devices_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable wake_;
  std::deque<job> jobs_;
  bool stopping_ = false, loading_ = false;
  std::thread thread_;
};

}  // namespace troupe
