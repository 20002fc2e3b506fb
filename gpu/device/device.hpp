// A device: where batches run. Three kinds behind one interface: emulated (a timer that follows a latency
// profile), cpu (really executes), cuda.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/common/batch_part.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"
#include "messages/tensor/model_engine.hpp"
#include "messages/tensor/model_inputs.hpp"
#include "messages/tensor/tensor.hpp"

namespace troupe {

struct batch_work {
  model_id model;
  uint32_t rows = 0;  ///< sum over the parts
  std::vector<batch_part> parts;
};

struct batch_outcome {
  std::vector<std::string> errors;  ///< by part, empty text: its output is written; no entries: all are
  time_point started_at = never;
  time_point finished_at = never;
  bool stopped = false;   ///< `stop` ended it: its outputs and `errors` say nothing
  std::string lost = {};  ///< not empty: the device is of no use to this process any more, and why
};

/// Errors of a batch, one per part, if the device has not loaded its model.
inline std::vector<std::string> not_loaded(const batch_work& work) {
  return std::vector<std::string>(work.parts.size(), "the device has not loaded the model");
}

/// What to load: a model file, or for an emulated device only its profile and shapes.
struct model_source {
  std::string name;
  std::string path;                ///< ONNX file, or the folder of an encoder; empty: emulated only
  model_signature signature = {};  ///< for an emulated device without a file
  latency_model latency = {};      ///< given by the cluster file; both zero: measure it
  uint32_t max_batch = 64;         ///< plans are warmed for batch sizes up to this
  model_engine engine = model_engine::automatic;  ///< on CPUs
  /// Of `automatic`: decided before, for all nodes (engine_choice.hpp). Still automatic: not yet.
  model_engine decided_engine = model_engine::automatic;
  bool bf16 = false;                     ///< openvino: compute in bf16 instead of f32
  bool batched = true;                   ///< false: a row is a request with all its dimensions
  std::vector<input_shape> shapes = {};  ///< of dynamic inputs: of a row, or whole if not batched
  bool any_shape = false;                ///< free dimensions stay free; not batched, on CPUs
  std::vector<input_constant> constants = {};
};

/// What a device says of a model that it has loaded.
struct loaded_model {
  model_signature signature;
  latency_model latency;      ///< as measured, or as the cluster file gives it
  uint64_t memory_bytes = 0;  ///< of the device: parameters and whatever else is this model's alone
  uint32_t layers = 0;        ///< contiguous blobs of parameters
};

/// One execution slot of a device. At most one batch at a time. One owner calls it; only `load` may be called
/// from another thread, beside batches of other models (one `load` at a time).
class device {
 public:
  virtual ~device() = default;

  /// Loads a model and warms its plans; may take seconds. Throws `model_error` (gpu/common/model_error.hpp)
  /// with one clear message that names the file and the fix. Replaces what was loaded under this id.
  virtual loaded_model load(model_id id, const model_source& source) = 0;

  /// Frees what is loaded under this id, if anything. Requires: no batch of it is running.
  virtual void unload(model_id id) = 0;

  /// Starts a batch and returns at once. Its outcome is taken by `poll`.
  /// A model that is not loaded makes every part fail. Requires: no batch is running (asserted).
  virtual void start(batch_work work, time_point now) = 0;

  /// The outcome, once, when the running batch is done by `now`.
  virtual bool poll(time_point now, batch_outcome& out) = 0;

  /// Asks the running batch, if any, to end as soon as the device can: an emulated one at once, a CPU between
  /// two operators, a GPU before it begins. Its outcome is taken by `poll` as usual; it may have come too far
  /// to be stopped.
  virtual void stop(time_point now) = 0;

  /// Waits until no batch is running; its outcome may stay untaken. For owners that must leave.
  virtual void finish() {}

  /// When to poll next: an emulated device knows; a real one says `never` and calls its `ready` function
  /// instead, from a thread of its own, when there is something to poll.
  virtual time_point poll_at() const = 0;
};

}  // namespace troupe
