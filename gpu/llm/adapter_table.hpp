// The adapters that a decoder has loaded, by id: a sorted vector, as every step looks up many of them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/llm/adapter_weights.hpp"
#include "messages/llm/step.hpp"

namespace troupe::llm {

class adapter_table {
 public:
  struct entry {
    adapter_id id;
    uint32_t max_rank = 0;
    const kernels::lora_weights* parts = nullptr;  ///< adapter_weights::parts
    std::shared_ptr<const adapter_weights> owner;
  };

  /// Replaces an adapter with the same id. Requires: `a` is not null.
  void load(adapter_id id, std::shared_ptr<const adapter_weights> a);
  /// No-op if the adapter is not loaded.
  void unload(adapter_id id);
  /// Requires: the adapter is loaded.
  const entry& at(adapter_id id) const;
  /// Memory of all adapters.
  uint64_t bytes() const;

 private:
  std::vector<entry> entries_;  // sorted by id
};

}  // namespace troupe::llm
