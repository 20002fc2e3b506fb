// The interface of a tensor model on a CPU or GPU, used by a device (gpu/device/computing_device.hpp).
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "gpu/device/device.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe {

/// Used by one thread at a time, but not always the same one: the loading thread makes and warms it, the
/// device's thread runs it, and the last owner destroys it. So each function sets up the calling thread
/// (current GPU, OpenMP threads). Failures throw; the model stays usable, unless the exception is device_lost
/// (gpu/common/device_lost.hpp).
class batch_model {
 public:
  virtual ~batch_model() = default;

  virtual const model_signature& signature() const = 0;
  /// Device memory in use by this model alone, with its parameters. In bytes.
  virtual uint64_t memory_bytes() const = 0;
  virtual uint32_t layers() const = 0;  ///< contiguous blobs of parameters

  /// Prepares batches of this many rows. Other sizes are prepared at their first batch.
  virtual void warm(uint32_t rows) = 0;
  /// `warm` takes as long as a batch.
  virtual bool warms_by_running() const { return false; }
  /// Called once the model is loaded and warm. From now on it never runs at the same time as another model of
  /// the device, so they may share a workspace.
  virtual void take_turns() {}
  /// Runs the parts as one batch; their rows add up to `rows`. If `stop` becomes true, ends as soon as
  /// possible, writes no output and returns false. `stop` may be null.
  virtual bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) = 0;
};

/// Loads the model of a source onto the device. Throws model_error (gpu/common/model_error.hpp), which names
/// the file and the fix. Called from one thread at a time, concurrently with batches of loaded models.
using model_maker = std::function<std::unique_ptr<batch_model>(const model_source&)>;

}  // namespace troupe
