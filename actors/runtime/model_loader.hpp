// What a worker node's deployer needs of its devices: an interface, so that it knows neither kinds of devices
// nor threads.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "gpu/device/device.hpp"
#include "messages/deployment/deployment.hpp"

namespace troupe {

/// What came of loading a model onto a slot.
struct load_outcome {
  slot_id slot;
  model_id model;
  uint64_t revision = 0;
  std::optional<loaded_model> loaded;
  std::string problem;  ///< why not, if it is not loaded
  bool lost = false;    ///< ... and the device is of no use to this process any more
};

class model_loader {
 public:
  virtual ~model_loader() = default;
  /// Loads a model onto every slot of this node, after what was asked for before and beside the batches that
  /// run. Returns at once; `told` is called once for each slot, from any thread.
  virtual void load(const deployment& line, std::function<void(load_outcome)> done) = 0;
};

}  // namespace troupe
