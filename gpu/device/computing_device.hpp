// A device that really computes: a thread of its own runs batches on models (gpu/device/batch_model.hpp).
#pragma once
#include <functional>
#include <memory>

#include "gpu/device/batch_model.hpp"
#include "gpu/device/device.hpp"

namespace troupe {

/// Batches run on the device's thread; everything else on the caller's. `load` warms powers of two up to
/// `max_batch` and `max_batch` itself. A batch that fails has its parts run again one by one, as one
/// request's values may be why; what then fails has an error, and the device goes on, unless it is `lost`.
class computing_device : public device {
 public:
  /// `ready` is called from the device's thread whenever there is something to poll. `c` must outlive the
  /// device.
  computing_device(const clock& c, std::function<void()> ready, model_maker make);
  ~computing_device() override;  ///< waits for a running batch

  /// Runs on the caller's thread until the model is loaded and measured; batches go on meanwhile. Throws what
  /// the maker and the model throw; what was loaded before is then still there.
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
