// Which adapters are on a device: who gets a slot next, and who gives one up.
//
// An adapter that sequences wait for takes a free slot, or that of the adapter whose last sequence ended
// longest ago. If sequences run with all of them, the one that has been there longest takes no new sequences
// until its own have ended; one for each adapter that waits, and no more. Nobody gives way to an adapter
// whose sequences wait less long than its own: so one that has come stays until its sequence has begun, the
// adapter of the oldest sequence waits for nobody but the sequences that run, and none starves while others
// are always in use.
//
// Equal times are decided by the lower id: the same calls lead to the same decisions.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "messages/common/time.hpp"
#include "messages/llm/step.hpp"

namespace troupe::llm {

class adapter_slots {
 public:
  /// What is to be done, in this order: a fenced one that sequences wait for may be unloaded and loaded at
  /// once.
  struct decision {
    std::vector<adapter_id> fence;   ///< no sequence begins with it any more
    std::vector<adapter_id> unload;  ///< gives its slot up: has no users
    std::vector<adapter_id> load;    ///< takes a slot
  };

  /// `slots` 0: adapters are never loaded.
  explicit adapter_slots(uint32_t slots);

  /// `wanted`: adapters that sequences wait for, the most urgent first (step_scheduler::wanted_adapters).
  /// Those that are there must be among them where they are more urgent than one that is not. `users`:
  /// sequences that run with an adapter, whether it is fenced or not.
  decision decide(std::span<const adapter_id> wanted, const std::function<uint32_t(adapter_id)>& users,
                  time_point now);
  /// One that `decide` had loaded is there: `ready`, or `fenced` if it was retired meanwhile.
  void loaded(adapter_id a, time_point now);
  /// It could not be loaded: its slot is free. `decide` tries again as long as sequences wait for it.
  void failed(adapter_id a);
  /// A sequence with it has ended.
  void used(adapter_id a, time_point now);
  /// It must go (its name is unregistered): fenced from now on, unloaded by `decide` once it is loaded and
  /// has no users. Afterwards it is a stranger, and loaded again if sequences still wait for it. Nothing
  /// happens if it has no slot.
  void retire(adapter_id a);

  enum class place : uint8_t { away, loading, ready, fenced };
  place of(adapter_id a) const;
  uint32_t taken() const { return static_cast<uint32_t>(held_.size()); }
  uint32_t slots() const { return slots_; }

 private:
  struct slot {
    place state = place::loading;
    bool retired = false;
    time_point since{}, last_used{};  // from when it was there
  };
  struct round;  // of `decide`

  void take_free_slots(round& r);
  void take_unused_slots(round& r, const std::function<uint32_t(adapter_id)>& users);
  void fence_for_waiting(round& r);

  const uint32_t slots_;
  std::map<adapter_id, slot> held_;  // in the order of ids: it decides between equals
};

}  // namespace troupe::llm
