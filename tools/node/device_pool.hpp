// The devices of the execution slots of one real node, and the thread that loads models onto them.
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
#include "tools/node/file_images.hpp"

namespace troupe {

class device_pool final : public model_loader {
 public:
  /// `ready(slot)` is called from a device's thread, which holds no lock, when the device must be polled; it
  /// may poll, start and unload by itself. Files that peers gave are loaded instead of those of the disk.
  /// `cluster`, `time` and `files` must outlive the pool. Throws model_error if a GPU does not exist.
  device_pool(const cluster_spec& cluster, node_id self, const clock& time, file_images& files,
              std::function<void(slot_id)> ready);
  ~device_pool() override;

  device& at(slot_id slot) { return *devices_.at(slot); }
  void load(const deployment& line, std::function<void(load_outcome)> done) override;

  /// Waits for the load in progress, discards the others, and calls no `done` afterwards.
  void stop_loading();
  /// Whether a load is in progress; it cannot be interrupted.
  bool is_loading();
  /// Waits for running batches and destroys the devices.
  void clear() { devices_.clear(); }

 private:
  struct job {
    deployment line;
    std::function<void(load_outcome)> done;
  };
  void loop();
  void run(const job& j);
  std::unique_ptr<memory_folder> received(const deployment& line);

  const cluster_spec& cluster_;
  file_images& files_;
  std::map<slot_id, std::unique_ptr<device>> devices_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::deque<job> jobs_;
  bool stopping_ = false, loading_ = false;
  std::thread thread_;
};

}  // namespace troupe
