// An emulated engine device: a timer that takes step times from a profile (messages/llm/step_latency.hpp).
// Its tokens mean nothing, but they depend on the memory that a step reads, so that wrong blocks show.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/llm/emulated_kv_cache.hpp"
#include "gpu/llm/engine_device.hpp"
#include "gpu/llm/image_set.hpp"
#include "messages/llm/step_latency.hpp"

namespace troupe::llm {

struct emulated_engine_options {
  llm_profile profile;
  uint32_t vocabulary = 0;
  uint32_t max_positions = 0;
  uint32_t layers = 3;  ///< including embedding and head
  std::vector<token>
      end_of_text;        ///< never chosen: sequences end by `max_tokens`, stop strings or stop tokens
  uint64_t kv_bytes = 0;  ///< size of the emulated KV cache
  uint32_t block_tokens = 16;
  image_allocator kv_memory = heap_image_memory;  ///< of the words, 8 bytes a position
  uint32_t adapter_slots = 0;
  uint32_t steps_ahead = 1;  ///< 1: as on a GPU; 0: one step at a time
  double jitter = 0;         ///< steps take up to this fraction longer, uniformly
  uint64_t seed = 0;         ///< of the jitter
  std::string problem = {};  ///< why the model is unusable; empty: it is usable
  /// Why a folder holds no adapter, or nothing. Empty: every folder counts as an adapter, and none is read.
  std::function<std::string(const std::string& folder)> adapter_problem = {};
  /// The images that its layers are read from, with as many layers as they have. Null: all layers are there
  /// at once.
  std::function<std::shared_ptr<image_set>()> images = {};
  /// Called when more images are ready, from the thread of their writer: poll then.
  std::function<void()> ready = {};
  /// Why an image is not the layer's, or nothing.
  std::function<std::string(uint32_t layer, std::span<const std::byte> image)> image_problem = {};
  /// A step was started that needs layers that are not there. It fails.
  std::function<void(std::string)> misused = {};
};

/// Deterministic: the same options, and the same steps at the same times, give the same events. It has no
/// thread: the owner polls at `poll_at`.
///
/// The KV cache holds a word for each position: a hash of its token, its position and its adapter. The next
/// token of a sequence is a hash over the words at all of its positions (through the step's block table),
/// of the adapter in its slot, of the seed if it is drawn, and of the counts if there are penalties. So
/// errors in blocks, slots, counts, or in the tokens of a resumed sequence change the tokens. Biases change
/// nothing. A step writes its words when it starts, and again when it is done. So blocks that are released
/// too early change the tokens, too, and an adapter that is unloaded too early makes the step fail.
class emulated_engine_device final : public engine_device {
 public:
  /// `c` must outlive the device. A cache smaller than a block makes the model unusable, too.
  emulated_engine_device(const clock& c, emulated_engine_options options);

  using engine_device::start;
  void start(const llm_step& step, std::span<const token_sampling> samplings,
             const layer_range& layers) override;
  bool poll(time_point now, engine_event& out) override;
  time_point poll_at() const override;
  void read_adapter(adapter_id id, const std::string& folder) override;
  void load_adapter(adapter_id id, const std::string& folder) override;
  void unload_adapter(adapter_id id) override;
  kv_cache_memory kv_memory() override { return cache_.memory(); }
  void on_kv_written(std::span<const uint32_t> blocks) override {
    for (const auto b : blocks) cache_.refresh(b);
  }
  void stop() override;
  ~emulated_engine_device() override;

 private:
  struct slot {
    uint64_t print = 0;  // hash of the adapter
    bool ready = false;
  };
  struct running {
    time_point ends;
    std::vector<std::pair<size_t, uint64_t>> words;         // written by the step, by place in `cache_`
    std::vector<std::pair<adapter_id, uint64_t>> adapters;  // with their prints
  };

  void report(time_point at, engine_event e) { events_.emplace(at, std::move(e)); }
  uint64_t print_of(adapter_id id) const;
  std::string problem_of(const std::string& folder) const;
  void fail(time_point at, std::string problem);
  bool adopt_layers(engine_event& out);
  void end_step(engine_event& e);
  void remember(const llm_step& step, running& into);
  chosen_token choose(const llm_step& step, uint32_t row, const token_sampling& sampling) const;
  token as_token(uint64_t hash) const;

  const clock& clock_;
  const emulated_engine_options options_;
  engine_facts facts_;
  std::shared_ptr<image_set> images_;
  uint64_t listener_ = 0;  // of the images
  bool unusable_ = false;
  emulated_kv_cache cache_;
  std::map<adapter_id, slot> slots_;
  std::multimap<time_point, engine_event> events_;  // events of the same time in their order
  std::deque<running> under_way_;
  std::vector<token> tokens_,
      chosen_;           // of the last started step: by row, and by entry of `sampled`
  bool failed_ = false;  // the owner has not polled this yet
  std::minstd_rand random_;
};

}  // namespace troupe::llm
