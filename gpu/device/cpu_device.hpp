// A device on the CPU's cores: it runs ONNX models through oneDNN.
#pragma once
#include <functional>
#include <memory>

#include "gpu/device/computing_device.hpp"
#include "gpu/device/model_library.hpp"

namespace troupe {

struct cpu_options {
  int threads = 1;                              ///< of OpenMP, for each operator
  std::shared_ptr<model_library> library = {};  ///< null: one of its own
};

/// What makes a computing_device one. Sizes of batches beyond those that `load` warms take a few
/// milliseconds, once.
model_maker on_cpu(cpu_options options = {});

class cpu_device final : public computing_device {
 public:
  cpu_device(const clock& c, std::function<void()> ready, cpu_options options = {});
};

}  // namespace troupe
