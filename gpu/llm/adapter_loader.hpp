// Loads LoRA adapters from their folders and packs them for kernels, concurrently with an engine's steps. It
// has a thread of its own, and a store in host memory.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "gpu/checkpoint/model_config.hpp"
#include "gpu/llm/packed_adapter.hpp"
#include "messages/llm/step.hpp"

namespace troupe::llm {

/// Thread-safe.
class adapter_loader {
 public:
  struct order {
    adapter_id id;
    uint64_t number = 0;  ///< unique, not 0
    std::string folder;
    bool only_read = false;  ///< into the store, to check it; not packed
  };
  struct outcome {
    adapter_id id;
    uint64_t order = 0;                            ///< the order's number
    bool only_read = false;                        ///< as in the order
    std::shared_ptr<const packed_adapter> packed;  ///< null if it was only read, or is not usable
    std::string problem;                           ///< why the adapter is not usable; empty: it is
    bool from_disk = false;                        ///< false: the store had it
    bool lost = false;                             ///< the problem is device_lost
  };

  /// `store_bytes`: limit of the store. `done` is called from the loader's thread, without a lock.
  adapter_loader(uint64_t store_bytes, std::function<void(outcome)> done);
  ~adapter_loader();  ///< waits for the current order; the others are dropped

  /// Sets the model of the adapters, and the function that packs them; it runs on the loader's thread. Orders
  /// wait until this call.
  void open(const model_config& model, adapter_packer pack);
  /// First come, first served within the orders that pack and within those that only read; the two alternate.
  void add(order o);
  /// Drops a waiting order. The outcome of a running order still comes.
  void cancel(uint64_t number);
  /// Releases an adapter on the loader's thread, as freeing a large one takes long.
  void discard(std::shared_ptr<const packed_adapter> adapter);
  /// Starts no further order.
  void stop();

 private:
  struct worker;
  std::unique_ptr<worker> worker_;
};

}  // namespace troupe::llm
