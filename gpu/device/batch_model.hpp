// A tensor model on something that computes, as a device drives it (gpu/device/computing_device.hpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "gpu/device/device.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe {

/// One thread at a time uses it, but not always the same one: it is made and warmed by the thread that loads,
/// then run by the device's, and destroyed by whoever lets go of it last. So each function prepares the
/// thread that calls it (the current GPU, threads of OpenMP). What fails throws, and the model goes on,
/// unless that is device_lost (gpu/common/device_lost.hpp).
class batch_model {
 public:
  virtual ~batch_model() = default;

  virtual const model_signature& signature() const = 0;
  /// Of the device, so far: parameters and whatever else is this model's alone.
  virtual uint64_t memory_bytes() const = 0;
  virtual uint32_t layers() const = 0;  ///< contiguous blobs of parameters

  /// Prepares batches of so many rows. Others are prepared when they come.
  virtual void warm(uint32_t rows) = 0;
  /// It is loaded, and warm. From now on it runs by turns with the device's other models, never beside one of
  /// them, and may share with them what a batch needs.
  virtual void take_turns() {}
  /// Runs the parts as one batch; their rows add up to `rows`. Once `stop` is true, it ends as soon as it
  /// can: then it has written no output, and returns false. `stop` may be null.
  virtual bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) = 0;
};

/// Loads the model of a source onto the device. Throws model_error (gpu/common/model_error.hpp), naming the
/// file and the fix. From one thread at a time, beside batches of models that it has made.
using model_maker = std::function<std::unique_ptr<batch_model>(const model_source&)>;

}  // namespace troupe
