// A model on several devices that compute together. Each has its share (tensor_shard.hpp) in a step_model of
// its own, which sums with the others in the midst of a step, and so each has a thread; the first one's is
// the caller's. All get the same steps; what the first one chooses counts.
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
  /// Makes the model of a share; on the thread that will use it.
  using maker = std::function<std::unique_ptr<step_model>(const model_config& share, uint32_t rank)>;

  /// `abort_ranks` ends collectives in which ranks wait for one that has failed: they throw. It is called at
  /// most once, from the rank that failed; that step, or the adapter that it does not take, throws
  /// device_lost, and so does every later one: ranks that differ would wait for each other for ever. Throws
  /// what `make` throws, or model_error if the model cannot be shared out.
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
  /// Empty: it is not in one piece.
  std::span<std::byte> kv_memory() override { return {}; }

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
