#include "tools/common/one_device.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"
#include "gpu/device/cpu_device.hpp"
#ifdef TROUPE_CUDA
#include "gpu/device/cuda_device.hpp"
#endif

namespace troupe {
namespace {

model_maker one_gpu([[maybe_unused]] const device_choice& choice) {
#ifdef TROUPE_CUDA
  return on_cuda({.gpu = static_cast<int>(choice.gpu.value_or(0)), .exact = choice.exact});
#else
  throw model_error("--device cuda: this build has no CUDA; configure it with -DTROUPE_CUDA=ON, or use cpu");
#endif
}

}  // namespace

model_maker one_device(const device_choice& choice) {
  if (choice.device == "cuda") return one_gpu(choice);
  if (choice.device != "cpu")
    throw model_error(fmt::format("--device {}: must be cpu or cuda", choice.device));
  if (choice.gpu) throw model_error("--gpu: is for --device cuda; add that, or remove this flag");
  if (choice.exact)
    throw model_error(
        "--exact: is for --device cuda, as a cpu is always exact; add that, or remove this flag");
  return on_cpu();
}

std::string title_of(const device_choice& choice) {
  return choice.device == "cuda" ? fmt::format("GPU {}", choice.gpu.value_or(0)) : "cpu, one core";
}

}  // namespace troupe
