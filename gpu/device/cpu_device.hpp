// A device on CPU cores. It runs ONNX models through oneDNN, or by OpenVINO (engine_choice.hpp).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include "gpu/device/computing_device.hpp"
#include "gpu/device/model_library.hpp"

namespace troupe {

struct cpu_options {
  int threads = 1;                              ///< of OpenMP, for each operator
  std::shared_ptr<model_library> library = {};  ///< null: a library of its own
};

/// Maker of models of the native engine for a computing_device on the CPU. The first batch of a size that
/// `load` did not warm takes a few milliseconds longer.
model_maker on_cpu(cpu_options options = {});

/// Plans the batches that `load` of a device on the CPU warms, without packing parameters or running. Throws
/// model_error if a batch size cannot be planned, or if its outputs are not as the signature promises.
void plan_on_cpu(std::shared_ptr<const onnx::model> model, uint32_t max_batch);

class cpu_device final : public computing_device {
 public:
  cpu_device(const clock& c, std::function<void()> ready, cpu_options options = {});
};

}  // namespace troupe
