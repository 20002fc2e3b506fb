// An emulated GPU: a timer. Batches take ℓ(b) = α·b + β, as in the evaluation of the Symphony paper.
#pragma once
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

#include "gpu/device/device.hpp"

namespace troupe {

/// The output of an emulated device: the 64-bit FNV-1a hash of the part's input, little-endian, repeated to
/// the length of the output. So mixed-up memory is detected.
void emulated_output(std::span<const std::byte> input, std::span<std::byte> output);

struct emulated_options {
  double jitter = 0;          ///< execution takes up to this fraction longer, uniformly
  uint64_t seed = 0;          ///< of the jitter
  std::string abort_on = {};  ///< for tests: inputs with this prefix abort the process; empty: none
  std::string throw_on = {};  ///< for tests: inputs with this prefix make `start` throw
};

/// Deterministic: the same options and batches give the same times. A batch ends exactly when its time has
/// passed, however late it is polled. Reads no file: the model source must bring shapes and latency.
class emulated_device final : public device {
 public:
  explicit emulated_device(emulated_options options = {});

  /// Throws `model_error` if the source has no signature or no latency.
  loaded_model load(model_id id, const model_source& source) override;
  void unload(model_id id) override;
  void start(batch_work work, time_point now) override;
  bool poll(time_point now, batch_outcome& out) override;
  void stop(time_point now) override;
  time_point poll_at() const override;

 private:
  struct running {
    batch_work work;
    time_point started_at, finished_at;
    bool loaded, stopped = false;
  };
  emulated_options options_;
  std::minstd_rand random_;
  std::mutex mutex_;  // guards the models: they are loaded from another thread
  std::unordered_map<model_id, latency_model> models_;
  std::optional<running> running_;
};

}  // namespace troupe
