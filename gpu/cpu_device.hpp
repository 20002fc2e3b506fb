// A device that really executes: a thread of its own, running ONNX models through oneDNN.
#pragma once
#include <functional>
#include <memory>

#include "gpu/device.hpp"

namespace troupe {

/// Model files that are open in this process: devices that share one share the weights, too. Thread-safe.
class model_library {
 public:
  model_library();
  ~model_library();
  struct shelf;

 private:
  friend class cpu_device;
  std::unique_ptr<shelf> shelf_;
};

struct cpu_options {
  int threads = 1;                         ///< of OpenMP, for each operator
  std::shared_ptr<model_library> library;  ///< null: one of its own
};

/// Batches run on the device's thread; everything else on the caller's. Plans for powers of two up to
/// `max_batch` and for `max_batch` itself are made by `load`, others when a batch of that size comes (a few
/// milliseconds, once). A batch that fails has an outcome with an error; the device goes on.
class cpu_device final : public device {
 public:
  /// `ready` is called from the device's thread whenever there is something to poll. `c` must outlive the
  /// device.
  cpu_device(const clock& c, std::function<void()> ready, cpu_options options = {});
  ~cpu_device() override;  ///< waits for a running batch

  /// Runs on the caller's thread until the model is loaded and measured; batches go on meanwhile.
  loaded_model load(model_id id, const model_source& source) override;
  void unload(model_id id) override;
  void start(batch_work work, time_point now) override;
  bool poll(time_point now, batch_outcome& out) override;
  void stop(time_point now) override;
  void finish() override;
  time_point poll_at() const override { return never; }

 private:
  struct worker;
  std::unique_ptr<worker> worker_;
};

}  // namespace troupe
