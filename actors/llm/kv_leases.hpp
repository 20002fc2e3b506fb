// Leases of an engine on KV blocks of requests that it has handed over (messages/llm/handover.hpp). The
// blocks stay as they are until the next engine has pulled them, or until the lease expires: a next engine
// that comes too late computes them again.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "actors/runtime/memory_port.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/llm/handover.hpp"
#include "policies/llm/generation_batch.hpp"

namespace troupe {

class kv_leases {
 public:
  static constexpr duration limit = 3s;
  using blocks = std::vector<llm::held_blocks>;

  explicit kv_leases(memory_port& memory) : memory_(memory) {}
  /// Ends all leases: the device's memory may be given back after this.
  ~kv_leases() { end_all(); }
  kv_leases(const kv_leases&) = delete;
  kv_leases& operator=(const kv_leases&) = delete;

  /// Leases the blocks of the choices, which it takes. No offer, and no block taken, if peers cannot pull
  /// them, there are none, or the pool is full.
  kv_offer add(engine_id self, request_id request,
               std::vector<llm::generation_batch::stopped_choice>& choices, llm::engine_device& device,
               const llm::engine_facts& facts, time_point now);

  // These end leases. The blocks are to be released.
  blocks end(const region_ref& lease);
  blocks end(request_id request);
  blocks expire(time_point now);
  blocks end_all();

  time_point next_expiry() const { return leases_.empty() ? never : leases_.begin()->second.ends; }
  size_t size() const { return leases_.size(); }

 private:
  struct lease {
    region_ref region;
    request_id request;
    time_point ends;
    blocks held;
  };
  template <class If>
  blocks end_where(If&& over);

  memory_port& memory_;
  std::map<uint64_t, lease> leases_;  // by generation, which is the order in which they end
};

}  // namespace troupe
