// The adapters that a decoder has loaded, by id. Every step looks for many of them: what it needs lies close
// together.
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

  /// In place of the one that had the id. Requires: not null.
  void load(adapter_id id, std::shared_ptr<const adapter_weights> a);
  /// Nothing happens if it is not there.
  void unload(adapter_id id);
  /// Requires: it is there.
  const entry& at(adapter_id id) const;
  /// Of all of them.
  uint64_t bytes() const;

 private:
  std::vector<entry> entries_;  // ascending
};

}  // namespace troupe::llm
