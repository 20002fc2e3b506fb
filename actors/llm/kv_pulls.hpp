// Pulls of an engine of the KV blocks that former engines of its requests offer (messages/llm/handover.hpp),
// each choice's in one leased pull, straight into the blocks of its own cache.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/runtime/memory_port.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/llm/handover.hpp"
#include "policies/llm/step_scheduler.hpp"

namespace troupe {

class kv_pulls {
 public:
  /// `self` is told of the ends of pulls.
  kv_pulls(address self, memory_port& memory) : self_(self), memory_(memory) {}

  /// Whether a device of these facts can use the offer.
  static bool fits(const kv_offer& o, llm::engine_device& device, const llm::engine_facts& facts);
  /// Keeps the offer of a request, with at least one part.
  void expect(request_id id, kv_offer o);
  /// The request has ended, or does without the rest of its offer.
  void forget(request_id id);
  /// The offer of a request that has not begun, for its next engine. Nothing: it has begun, or there is none.
  std::optional<kv_offer> take(request_id id);

  /// Pulls the blocks of a choice. Requires: its request's offer is kept.
  void begin(request_id id, uint32_t choice, const llm::step_scheduler::arrival& to, std::span<std::byte> kv);
  /// A choice does without its part.
  void skip(request_id id);
  struct ended {
    llm::sequence_id sequence;
    std::vector<uint32_t> blocks;  ///< that the pull has written
    bool complete = false;
  };
  /// Nothing: it is not a pull of this incarnation's.
  std::optional<ended> on_pulled(const pulled& p);

  /// Offers that are not used any more, since the last call: their engines are to be told.
  std::vector<kv_offer> take_unused() { return std::exchange(unused_, {}); }
  void refuse(kv_offer o) { unused_.push_back(std::move(o)); }
  struct counts {
    uint64_t pulls = 0, failed = 0, positions = 0, bytes = 0;
  };
  const counts& done() const { return done_; }

 private:
  struct kept_offer {
    kv_offer what;
    size_t parts_left = 0;  // not begun
    size_t pulling = 0;
  };
  struct pull {
    std::shared_ptr<kept_offer> from;
    ended end;
    uint64_t positions = 0, bytes = 0;
  };
  void settle(kept_offer& o);

  const address self_;
  memory_port& memory_;
  std::unordered_map<request_id, std::shared_ptr<kept_offer>> offers_;  // with parts left
  std::unordered_map<uint64_t, pull> pulls_;                            // by token
  std::vector<kv_offer> unused_;
  uint64_t last_token_ = 0;
  counts done_;
};

}  // namespace troupe
