// A device that computes: a thread of its own runs batches on models (gpu/device/batch_model.hpp).
#pragma once
#include <functional>
#include <memory>

#include "gpu/device/batch_model.hpp"
#include "gpu/device/device.hpp"

namespace troupe {

/// Batches run on the device's thread; everything else runs on the caller's. `load` warms the powers of two
/// up to `max_batch`, and `max_batch` itself, and measures them, if their latency is not given. It measures
/// at least two sizes, but none beyond the first one that takes more than half a second; a model that warms
/// by running does not warm those either. If a batch fails, its parts run again one by one, as the values of
/// one request may be the cause. Parts that fail again get an error; the device goes on, unless it is `lost`.
class computing_device : public device {
 public:
  /// `ready` is called from the device's thread when `poll` has an event. `c` must outlive the device.
  computing_device(const clock& c, std::function<void()> ready, model_maker make);
  ~computing_device() override;  ///< waits for a running batch

  /// Runs on the caller's thread until the model is loaded and measured; batches go on meanwhile. Passes on
  /// exceptions of the maker and the model; the model loaded before then stays.
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
