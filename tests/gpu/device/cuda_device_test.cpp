// The golden models as a device on a real GPU; skipped without one.
#include "gpu/device/cuda_device.hpp"

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/onnx/fixtures.hpp"

using namespace troupe;

namespace {

constexpr model_id id{1};

bool there_is_one() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  if (count == 0) MESSAGE("not run: there is no GPU");
  return count > 0;
}

/// A device and a thread that waits for it.
struct waited {
  explicit waited(bool exact)
      : made(make_cuda_device(time,
                              [this] {
                                const std::scoped_lock lock(mutex);
                                notified = true;
                                changed.notify_all();
                              },
                              {.gpu = 0, .exact = exact})) {}
  std::vector<float> run(const onnx::fixture& f, uint32_t rows) {
    const auto in = f.input_rows(rows);
    std::vector<float> out(rows * f.output_row / sizeof(float));
    made->start({id, rows, {{rows, in, std::as_writable_bytes(std::span{out})}}}, time.now());
    batch_outcome outcome;
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, 60s, [&] { return std::exchange(notified, false); }));
    REQUIRE(made->poll(time.now(), outcome));
    for (const auto& e : outcome.errors) CHECK(e == "");
    return out;
  }

  machine_clock time;
  std::mutex mutex;
  std::condition_variable changed;
  bool notified = false;
  std::unique_ptr<device> made;
};

void check_golden(bool exact, double max) {
  if (!there_is_one()) return;
  for (const auto& name : onnx::fixture_names) {
    CAPTURE(name);
    const onnx::fixture f(name);
    waited d(exact);
    const auto loaded = d.made->load(
        id, {.name = name, .path = onnx::fixture_path(name), .signature = {}, .latency = {}, .max_batch = 8});
    CHECK(loaded.latency.beta > duration{});  // measured
    for (const uint32_t rows : {1U, 3U, 8U})
      for (int again = 0; again < 2; ++again) {  // first without a graph, then with one
        CAPTURE(rows);
        CAPTURE(again);
        const auto found = d.run(f, rows), expected = f.output_rows(rows);
        INFO(large_differences(found, expected, max));
        CHECK(onnx::relative_l2(found, expected) < max);
      }
  }
}

}  // namespace

// Kernels may truncate operands to TF32 instead of rounding them: the simulated error of the encoder is
// 2.1e-3.
TEST_CASE("cuda device: golden outputs of every model, as TF32") { check_golden(false, 3e-3); }

TEST_CASE("cuda device: golden outputs of every model, exact") { check_golden(true, 1e-5); }

TEST_CASE("cuda device: an absent GPU is named in the error") {
  CHECK_THROWS_WITH_AS(on_cuda({.gpu = 99}), doctest::Contains("GPU 99 cannot be used"), std::runtime_error);
}
