// The device of commands that run a model file in their own process.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/device/batch_model.hpp"

namespace troupe {

struct device_choice {
  std::string device = "cpu";        ///< or "cuda"
  std::optional<uint32_t> gpu = {};  ///< cuda: index among the visible GPUs; none: the first
  bool exact = false;                ///< cuda: exact f32 products instead of TF32
  std::string engine = "auto";       ///< cpu: or "native", "openvino"
  bool bf16 = false;                 ///< cpu with engine "openvino": compute in bf16
  /// cpu: whole shapes of inputs, for a model without batches, and inputs with one value: "x=1x3x320x320",
  /// "scalar=" and "sr=16000".
  std::vector<std::string> shapes = {}, constants = {};
};

/// One thread of the CPU, or a GPU. Throws model_error that names the flag: an unknown device, flags of a
/// device that is not chosen, a build without CUDA, no such GPU.
model_maker one_device(const device_choice& choice);

/// For people: "cpu, one core", "GPU 0".
std::string title_of(const device_choice& choice);

}  // namespace troupe
