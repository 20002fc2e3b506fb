// What commands that run a model file in their own process run it on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "gpu/device/batch_model.hpp"

namespace troupe {

struct device_choice {
  std::string device = "cpu";        ///< or "cuda"
  std::optional<uint32_t> gpu = {};  ///< cuda: which one of those that the process sees; none: the first
  bool exact = false;                ///< cuda: products of f32 numbers as such, not as TF32
};

/// One thread of the CPU, or a GPU. Throws model_error, naming the flag: another device, flags of a device
/// that is not asked for, a build without CUDA, no such GPU.
model_maker one_device(const device_choice& choice);

/// For people: "cpu, one core", "GPU 0".
std::string title_of(const device_choice& choice);

}  // namespace troupe
