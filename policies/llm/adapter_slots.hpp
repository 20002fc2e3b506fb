// Adapter slots of a device: which adapter is loaded next, and which one gives up its slot.
//
// An adapter that sequences wait for takes a free slot, else the slot of the adapter without running
// sequences that was used least recently. If all have running sequences, the adapter that was loaded first is
// fenced: it takes no new sequences until its own have ended. One adapter is fenced for each one that waits,
// no more. An adapter is never fenced or unloaded for one whose sequences are less urgent than its own. So a
// loaded adapter stays until its sequence has begun, the adapter of the oldest sequence waits for running
// sequences only, and no adapter starves while others are in constant use.
//
// Ties go to the lower id, so the same calls give the same decisions.
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
  /// Actions, in this order. A fenced adapter that sequences wait for may be unloaded and loaded in one
  /// decision.
  struct decision {
    std::vector<adapter_id> fence;   ///< no sequence begins with it any more
    std::vector<adapter_id> unload;  ///< gives its slot up; it has no users
    std::vector<adapter_id> load;    ///< takes a slot
  };

  /// `slots` 0: adapters are never loaded.
  explicit adapter_slots(uint32_t slots);

  /// `wanted`: adapters that sequences wait for, most urgent first (step_scheduler::wanted_adapters). Must
  /// include loaded adapters that are more urgent than one that is not loaded. `users`: running sequences of
  /// an adapter, also of a fenced one.
  decision decide(std::span<const adapter_id> wanted, const std::function<uint32_t(adapter_id)>& users,
                  time_point now);
  /// An adapter in `decision::load` is loaded: `ready`, or `fenced` if it was retired meanwhile.
  void loaded(adapter_id a, time_point now);
  /// It could not be loaded; its slot is free. `decide` tries again while sequences wait for it.
  void failed(adapter_id a);
  /// A sequence with the adapter has ended.
  void used(adapter_id a, time_point now);
  /// The adapter was unregistered: it is fenced at once, and `decide` unloads it once it is loaded and has no
  /// users. Afterwards it is loaded again like any other if sequences still wait for it. No effect without a
  /// slot.
  void retire(adapter_id a);

  enum class place : uint8_t { away, loading, ready, fenced };
  place of(adapter_id a) const;
  std::vector<adapter_id> on_device() const;  ///< ready or fenced, by id
  uint32_t taken() const { return static_cast<uint32_t>(held_.size()); }
  uint32_t slots() const { return slots_; }

 private:
  struct slot {
    place state = place::loading;
    bool retired = false;
    time_point since{}, last_used{};  // since it is loaded
  };
  struct round;  // of `decide`

  void take_free_slots(round& r);
  void take_unused_slots(round& r, const std::function<uint32_t(adapter_id)>& users);
  void fence_for_waiting(round& r);

  uint32_t slots_;
  std::map<adapter_id, slot> held_;  // in the order of ids: it decides between equals
};

}  // namespace troupe::llm
