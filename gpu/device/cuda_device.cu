#include "gpu/device/cuda_device.hpp"

#include <memory>
#include <string>
#include <utility>

#include "gpu/common/device_lost.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/computing_device.hpp"
#include "gpu/device/cuda_tensor_model.hpp"
#include "gpu/device/profile.hpp"
#include "gpu/kernels/cuda/cuda_machine.cuh"
#include "messages/cluster/reserved_bytes.hpp"

namespace troupe {

namespace {

static_assert(reserved_bytes(device_kind::cuda) ==
              2 * (cuda::workspace::products_bytes + cuda::workspace::max_convolutions_bytes));

template <uint32_t Cluster>
std::unique_ptr<batch_model> make_on(const model_source& source, const cuda_device_options& o,
                                     const std::shared_ptr<cuda::workspace>& shared) {
  using machine = cuda::cuda_machine<Cluster>;
  cuda::tensor_model_options options;
  options.tf32 = !o.exact, options.timed_rows = source.max_batch;
  options.max_plans = profiled_batch_sizes(source.max_batch).size() + 40;  // a program and a graph are small
  auto made = std::make_unique<machine>(nullptr, 0, std::make_shared<cuda::workspace>(shared));
  return std::make_unique<cuda::cuda_tensor_model<machine>>(std::move(made), o.library->model(source),
                                                            options, shared);
}

}  // namespace

model_maker on_cuda(cuda_device_options o) {
  if (!o.library) o.library = std::make_shared<model_library>();
  const auto name = "GPU " + std::to_string(o.gpu);
  bool clusters = false;
  try {
    cuda::check(cudaSetDevice(o.gpu), "the GPU");
    clusters = cuda::runs_sm90_code();
  } catch (const cuda::cuda_error& e) {
    throw std::runtime_error(name + " cannot be used: " + e.what());
  }
  return [o, name, clusters, shared = std::make_shared<cuda::workspace>()](const model_source& source) {
    try {
      cuda::check(cudaSetDevice(o.gpu), "the GPU");  // for this thread
      return clusters ? make_on<8>(source, o, shared) : make_on<1>(source, o, shared);
    } catch (const device_lost&) {
      throw;
    } catch (const model_error&) {
      throw;
    } catch (const std::exception& e) {
      throw std::runtime_error(name + " cannot take the model " + source.path + ": " + e.what());
    }
  };
}

std::unique_ptr<device> make_cuda_device(const clock& c, std::function<void()> ready,
                                         cuda_device_options options) {
  return std::make_unique<computing_device>(c, std::move(ready), on_cuda(std::move(options)));
}

}  // namespace troupe
