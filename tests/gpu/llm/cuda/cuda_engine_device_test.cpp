// Whole engines on real GPUs; skipped if there are too few.
#include "gpu/llm/cuda/cuda_engine_device.hpp"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "gpu/kernels/cuda/device_group.hpp"
#include "gpu/llm/image_library.hpp"
#include "tests/gpu/llm/golden_sequences.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

/// Whether there are this many GPUs; prints a message if not.
bool there_are(int gpus) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  const bool enough = count >= gpus && (gpus == 1 || cuda::device_group::available);
  if (!enough)
    MESSAGE("not run: it takes GPUs: ", gpus, ", here: ", count, ", NCCL: ", cuda::device_group::available);
  return enough;
}

void check_sequences(element weights, uint32_t gpus, std::shared_ptr<image_library> library = {}) {
  if (!there_are(static_cast<int>(gpus))) return;
  cuda_engine_options options{.folder = golden_folder(),
                              .weights = weights,
                              .kv_bytes = 1 << 20,
                              .block_tokens = 16,
                              .gpus = gpus,
                              .adapter_slots = 2,
                              .adapter_bytes = 1 << 30};
  if (library) options.images = [=] { return library->open(golden_folder(), weights, 1); };
  check_golden_sequences(on_cuda(std::move(options)), {.max_sequences = 6, .prefill_chunk = 16});
}

}  // namespace

TEST_CASE("cuda engine: golden sequences of several adapters, batched, on a GPU") {
  check_sequences(element::bf16, 1);
  check_sequences(element::f16, 1);
}

TEST_CASE("cuda engine: golden sequences of several adapters, on a GPU that gets its weights from images") {
  const auto library = std::make_shared<image_library>(heap_image_memory, nullptr, image_layout::row_major);
  for (const auto type : {element::bf16, element::f16}) check_sequences(type, 1, library);
}

TEST_CASE("cuda engine: golden sequences of several adapters, batched, on two GPUs that share the model") {
  check_sequences(element::bf16, 2);
  check_sequences(element::f16, 2);
}

TEST_CASE("cuda engine: an absent GPU is named in the error") {
  waited_device device(on_cuda({.folder = golden_folder(), .kv_bytes = 1 << 20, .gpu = 99}));
  const auto e = device.next();
  CHECK(e.what == engine_event::kind::unusable);
  CHECK(e.problem.find("GPU 99 cannot take the model") != std::string::npos);
}
