// A device on CPU cores. It runs ONNX models through oneDNN.
#pragma once
#include <functional>
#include <memory>

#include "gpu/device/computing_device.hpp"
#include "gpu/device/model_library.hpp"

namespace troupe {

struct cpu_options {
  int threads = 1;                              ///< of OpenMP, for each operator
  std::shared_ptr<model_library> library = {};  ///< null: a library of its own
};

/// Maker of models for a computing_device on the CPU. The first batch of a size that `load` did not warm
/// takes a few milliseconds longer.
model_maker on_cpu(cpu_options options = {});

class cpu_device final : public computing_device {
 public:
  cpu_device(const clock& c, std::function<void()> ready, cpu_options options = {});
};

}  // namespace troupe
