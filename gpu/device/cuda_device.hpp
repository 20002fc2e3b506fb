// A device that runs ONNX models on a GPU. Only in builds with CUDA (-DTROUPE_CUDA=ON).
#pragma once
#include <functional>
#include <memory>

#include "gpu/device/batch_model.hpp"
#include "gpu/device/device.hpp"
#include "gpu/device/model_library.hpp"

namespace troupe {

struct cuda_device_options {
  int gpu = 0;         ///< which one of those that the process sees, from 0
  bool exact = false;  ///< products of f32 numbers as such; false: of operands rounded to TF32
  std::shared_ptr<model_library> library = {};  ///< null: one of its own
};

/// What makes a computing_device one. Throws model_error, with one clear message, if there is no such GPU.
model_maker on_cuda(cuda_device_options options);

/// A computing_device of `on_cuda`, which throws likewise.
std::unique_ptr<device> make_cuda_device(const clock& c, std::function<void()> ready,
                                         cuda_device_options options);

}  // namespace troupe
