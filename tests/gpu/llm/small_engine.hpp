// An engine without actors: continuous batching on a device, with a step ahead if the device allows it, and
// adapters in its slots.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gpu/llm/cpu_engine_device.hpp"
#include "policies/llm/sequence_batch.hpp"

namespace troupe::llm {

/// The owner of a device waits on it.
class bell {
 public:
  void ring();
  void wait();  ///< for a ring since the last call; fails after a minute

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

/// A device and its next events.
class waited_device {
 public:
  explicit waited_device(computing_options options)
      : device_(
            clock_, [this] { bell_.ring(); }, std::move(options)) {}
  explicit waited_device(cpu_engine_options options) : waited_device(on_cpu(std::move(options))) {}

  engine_event next_of_all();
  /// Skips events about loaded layers.
  engine_event next();
  /// No event is left beyond those that `next` returned.
  bool quiet(engine_event& out) { return !device_.poll(clock_.now(), out); }
  engine_device* operator->() { return &device_; }

 private:
  machine_clock clock_;
  bell bell_;
  computing_engine_device device_;
};

struct asked_sequence {
  std::vector<token> prompt = {};
  std::string adapter = {};  ///< folder; empty: the base model
  uint32_t max_tokens = 16;
  sampling_params sampling = {.temperature = 0, .biases = {}};
  uint64_t seed = 0;
  std::vector<token> stop = {};
  uint32_t top = 0;
};

class small_engine {
 public:
  /// Returns when the device has loaded its model. The device overrides the KV cache's size in `limits`.
  small_engine(computing_options options, scheduler_limits limits);
  small_engine(cpu_engine_options options, scheduler_limits limits)
      : small_engine(on_cpu(std::move(options)), limits) {}

  const engine_facts& facts() const { return facts_; }
  size_t add(asked_sequence sequence);
  /// Runs until all sequences have ended. Calls `each_step` before every step.
  void run(const std::function<void()>& each_step = {});
  const std::vector<chosen_token>& chosen(size_t sequence) const { return known_[sequence].chosen; }
  std::vector<token> tokens(size_t sequence) const;

  /// Problems by adapter.
  const std::map<std::string, std::string>& failed() const { return failed_; }
  uint32_t loads() const { return loads_; }
  uint32_t reads() const { return reads_; }
  uint32_t others() const { return others_; }  ///< loaded adapters that were not requested here
  uint64_t preemptions() const { return sequences_->scheduler().preemptions(); }
  uint64_t cached_tokens() const { return sequences_->scheduler().cache_use().hit; }
  uint32_t steps_ahead() const { return steps_ahead_; }  ///< steps started while another was running
  waited_device& device() { return device_; }

 private:
  struct open_sequence {
    asked_sequence asked;
    std::vector<chosen_token> chosen;
  };

  void arrange_adapters();
  void unload_unused();
  bool begin_step();
  void take(const engine_event& e);
  void finish_step(const std::vector<chosen_token>& chosen);
  const std::string& folder_of(adapter_id id) const;

  const computing_options options_;
  waited_device device_;
  engine_facts facts_;
  std::unique_ptr<sequence_batch> sequences_;
  std::vector<open_sequence> known_;  // of sequence i + 1
  std::map<std::string, adapter_id> ids_;
  std::deque<uint32_t> there_;  // in order of arrival
  std::set<uint32_t> leaving_, coming_;
  std::map<std::string, std::string> failed_;
  uint32_t steps_ahead_ = 0;
  uint32_t loads_ = 0, reads_ = 0, others_ = 0;
};

}  // namespace troupe::llm
