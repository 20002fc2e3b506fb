// Brings adapters from their folders into the form that kernels want, beside the steps of an engine: a thread
// of its own, and a store in host memory.
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
    bool only_read = false;  ///< into the store, to see whether it will do
  };
  struct outcome {
    adapter_id id;
    uint64_t order = 0;                            ///< its number
    bool only_read = false;                        ///< likewise
    std::shared_ptr<const packed_adapter> packed;  ///< unless it was only read, or will not do
    std::string problem;                           ///< why it will not; else empty
    bool from_disk = false;                        ///< it was read; else the store had it
    bool lost = false;                             ///< the device is, that is the problem
  };

  /// `store_bytes`: what the store keeps at most. `done` is called from the loader's thread, without a lock.
  adapter_loader(uint64_t store_bytes, std::function<void(outcome)> done);
  ~adapter_loader();  ///< waits for the adapter that it is at; the others are forgotten

  /// The model that adapters are for, and what packs them for it, on the loader's thread: orders wait until
  /// this is known.
  void open(const model_config& model, adapter_packer pack);
  /// First come, first served; but of what is only to be read, one at most comes before what is to be packed.
  void add(order o);
  /// Forgets an order if it waits; the outcome of one that is under way still comes.
  void cancel(uint64_t number);
  /// Lets go of an adapter, which may take as long as its memory is large, on this thread.
  void discard(std::shared_ptr<const packed_adapter> adapter);
  /// No order is begun any more.
  void stop();

 private:
  struct worker;
  std::unique_ptr<worker> worker_;
};

}  // namespace troupe::llm
