// model_loader loads models onto the devices of a worker node. It hides kinds of devices and threads from the
// deployer.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "gpu/device/device.hpp"
#include "messages/deployment/deployment.hpp"

namespace troupe {

/// Result of loading a model onto a slot.
struct load_outcome {
  slot_id slot;
  model_id model;
  uint64_t revision = 0;
  std::optional<loaded_model> loaded;
  std::string problem;     ///< the error, if it is not loaded
  bool lost = false;       ///< on an error: the device is unusable for this process
  bool transient = false;  ///< on an error: not one of the model's files, as a lack of memory
};

class model_loader {
 public:
  virtual ~model_loader() = default;
  /// Loads a model onto every slot of this node, after the loads of earlier calls, while batches run. Returns
  /// at once; `done` is called once for each slot, from any thread.
  virtual void load(const deployment& line, std::function<void(load_outcome)> done) = 0;
};

}  // namespace troupe
