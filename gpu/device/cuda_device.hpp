// A device that runs ONNX models on a GPU. Only in builds with CUDA (-DTROUPE_CUDA=ON).
#pragma once
#include <functional>
#include <memory>

#include "gpu/device/batch_model.hpp"
#include "gpu/device/device.hpp"
#include "gpu/device/model_library.hpp"

namespace troupe {

struct cuda_device_options {
  int gpu = 0;         ///< index among the GPUs that the process sees, from 0
  bool exact = false;  ///< f32 products in full precision; false: operands are rounded to TF32
  std::shared_ptr<model_library> library = {};  ///< null: a library of its own
};

/// Maker of models for a computing_device on a GPU. Throws model_error if there is no such GPU.
model_maker on_cuda(cuda_device_options options);

/// A computing_device with `on_cuda` as its maker. Throws as `on_cuda` does.
std::unique_ptr<device> make_cuda_device(const clock& c, std::function<void()> ready,
                                         cuda_device_options options);

}  // namespace troupe
