// An engine, as the request router of its model knows it: its latest status, and the requests that the router
// has placed there since.
#pragma once
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "messages/llm/generation.hpp"
#include "messages/llm/routing.hpp"

namespace troupe {

/// Number of an adapter, cheaper to compare than its name.
using adapter_number = uint32_t;
inline constexpr adapter_number no_adapter = 0;  ///< the base model

/// A request that has no token yet is to have it by its TTFT target.
inline bool waits_for_first_token(const routed_request& r) { return r.due != never && !r.started; }

struct routed_engine {
  /// Sequences that move to an engine together.
  struct load {
    uint32_t sequences = 0;
    uint64_t tokens = 0;
    duration tpot{};  ///< the tightest target; zero: none
  };
  struct arrival {
    time_point at;
    uint64_t tokens;
    uint64_t uncomputed;  ///< of these: not cached there, as far as known
  };

  engine_status said;
  time_point said_at = long_ago;
  bool up = false;
  bool heard = false;                                        ///< it has sent a status
  bool closed = false;                                       ///< by an operator
  std::vector<bool> adapters;                                ///< by number: registered at the engine
  std::vector<std::pair<adapter_number, uint32_t>> running;  ///< requests on it or expected, by adapter
  std::vector<adapter_number> resident;  ///< estimated content of its slots, least recently used first
  uint32_t sequences = 0;                ///< of requests on it, and of those that it will decode
  std::set<request_id> requests;         ///< on it
  std::set<request_id> expected;         ///< others prefill them, and it will decode them
  uint64_t expected_tokens = 0;
  std::deque<arrival> fresh;  ///< requests that `said` may not include yet
  uint64_t fresh_tokens = 0;
  uint64_t blocks_number = 0;          ///< of its latest cached_blocks; 0: all are wanted
  time_point asked_blocks = long_ago;  ///< it was asked for all at this time

  void put(const routed_request& r, adapter_number its);
  void take(const routed_request& r, adapter_number its);
  void expect(const routed_request& r, adapter_number its);
  void expect_no_more(const routed_request& r, adapter_number its);
  /// A request begins there that `said` does not include.
  void add_fresh(arrival a);
  /// Forgets requests placed by then: the engine's status includes them.
  void forget_fresh(time_point then);

  bool open() const { return up && said.ready && !closed; }
  bool has(adapter_number a) const { return a == no_adapter || (a < adapters.size() && adapters[a]); }
  bool prefills() const { return said.phase == instance_phase::prefill; }
  /// The request can run there at some time. Its sequences may run one after the other if they do not fit
  /// together.
  bool may_have(const routed_request& r, adapter_number its) const;
  /// An engine without sequences always has room.
  /// `only_prefills`: another engine will decode them.
  bool has_room(const load& with, bool only_prefills = false) const;
  bool full() const { return !has_room({1, said.block_tokens, {}}); }
  /// The first token comes before its due time, judged by the tokens to prefill before it, and its own as if
  /// none of them was cached. Requests placed since the engine's status have not begun.
  bool in_time(const routed_request& r, time_point now, bool only_prefills = false) const;
  /// Tokens of its KV cache that are free for new requests.
  uint64_t free_tokens() const;
  /// Tokens to prefill before those of a new request.
  uint64_t uncomputed_tokens() const { return said.uncomputed_tokens + fresh_uncomputed(); }

 private:
  uint64_t fresh_uncomputed() const;
  void add_user(adapter_number its);
  void remove_user(adapter_number its);
  void use_slot(adapter_number a);
};

}  // namespace troupe
