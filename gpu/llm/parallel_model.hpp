// A tensor-parallel model on several devices. Each rank has its shard (tensor_shard.hpp) in a step_model of
// its own. The ranks all-reduce within a step, so each has a thread; rank 0 uses the caller's. All ranks get
// the same steps; the tokens that rank 0 chooses count.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/llm/step_model.hpp"
#include "gpu/llm/tensor_shard.hpp"

namespace troupe::llm {

class parallel_model final : public step_model {
 public:
  /// Makes the model of a shard, on the thread that will use it.
  using maker = std::function<std::unique_ptr<step_model>(const model_config& share, uint32_t rank)>;

  /// `abort_ranks` aborts collectives in which ranks wait for a failed one: they throw. It is called at most
  /// once, from the failed rank. The failed step or load of an adapter throws device_lost, and so does every
  /// later one, as ranks that differ would deadlock. Throws model_error if the model cannot be sharded, and
  /// any exception of `make`.
  parallel_model(const model_config& whole, uint32_t ranks, const maker& make,
                 std::function<void()> abort_ranks);
  ~parallel_model() override;

  engine_facts facts() const override;
  uint64_t load(uint32_t layer, const layer_parameters& parameters) override;
  std::shared_ptr<const packed_adapter> pack(const adapter& read) override;
  void load(adapter_id id, std::shared_ptr<const packed_adapter> adapter) override;
  void unload(adapter_id id) override;
  void begin(const llm_step& step, std::span<const token_sampling> samplings, uint32_t first, uint32_t end,
             activation* x) override;
  bool is_ready() override;
  bool finish(std::vector<chosen_token>& chosen, const std::atomic<bool>& stopping) override;
  /// Empty: the cache is not in one piece.
  kv_cache_memory kv_memory() override { return {}; }

 private:
  class rank;
  template <class Work>
  void on_all(const Work& work, const std::function<void()>& on_failure = {});

  template <class Work>
  void on_all_or_none(const Work& work);

  std::vector<std::unique_ptr<rank>> ranks_;
  std::function<void()> abort_ranks_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace troupe::llm
