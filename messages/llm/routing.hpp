// Protocol between gateways and the router of a language model. Gateways tell the router their requests. The
// router places each on an engine, and migrates it later if that is better. Only the gateway keeps the
// request and its tokens; a new router learns all from the gateways.
//
// A gateway raises a request's `version` whenever it tells the router where the request is. Decisions of the
// router on an earlier version are void, so both agree even if messages cross.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// A request, as a router knows it.
struct routed_request {
  request_id id;
  uint32_t version = 0;
  std::string adapter;
  uint32_t sequences = 1;  ///< that go on
  uint64_t tokens = 0;     ///< of all of them, prompts and generated
  time_point arrival = never;
  int32_t priority = 0;
  time_point due = never;           ///< of the first token
  duration tpot{};                  ///< target for the further ones; zero: none
  bool started = false;             ///< its client has seen tokens: it can no longer be refused
  engine_id at = no_engine;         ///< the engine that has it
  engine_id decode_at = no_engine;  ///< goes on with it after its first token; none: `at` does
  /// Hashes of the prompt's full blocks (policies/llm/prefix_hash.hpp), if it is to be placed by them.
  std::vector<uint64_t> prefix;
  TROUPE_MESSAGE(routed_request, id, version, adapter, sequences, tokens, arrival, priority, due, tpot,
                 started, at, decode_at, prefix)
  bool operator==(const routed_request&) const = default;
};

/// llm_gateway → llm_router: its requests. Those with no engine are to be placed.
struct route {
  llm_id model;
  bool all = false;  ///< replaces all known ones of the gateway
  std::vector<routed_request> requests;
  TROUPE_MESSAGE(route, model, all, requests)
  bool operator==(const route&) const = default;
};

/// llm_gateway → llm_router: these have ended.
struct route_ends {
  llm_id model;
  std::vector<request_id> requests;
  TROUPE_MESSAGE(route_ends, model, requests)
  bool operator==(const route_ends&) const = default;
};

/// Reason of a placement.
enum class route_reason : uint16_t {
  placed,        ///< it had no engine
  preempted,     ///< its engine ran out of KV blocks
  drained,       ///< its engine is being drained
  consolidated,  ///< so that its engine becomes idle (Punica §5.3)
  asked          ///< by an operator
};
inline constexpr size_t route_reason_count = 5;
std::string_view to_string(route_reason r);

struct placement {
  request_id id;
  uint32_t version = 0;
  engine_id to;  ///< the engine that has it already: only `decode_at` is new
  route_reason why = route_reason::placed;
  engine_id decode_at = no_engine;  ///< as of a `routed_request`
  TROUPE_MESSAGE(placement, id, version, to, why, decode_at)
  bool operator==(const placement&) const = default;
};

/// llm_router → llm_gateway: engines for its requests, in this order. A request that cannot be placed is
/// dropped (`drops`, with the version as its attempt).
struct placements {
  llm_id model;
  std::vector<placement> requests;
  TROUPE_MESSAGE(placements, model, requests)
  bool operator==(const placements&) const = default;
};

/// llm_engine → llm_router, with the routing policy `prefix`: changes of the blocks in its prefix cache, by
/// their hashes.
struct cached_blocks {
  llm_id model;
  engine_id engine;
  uint64_t number = 0;  ///< consecutive; a router that misses one asks for all blocks
  bool all = false;     ///< replaces all known ones
  std::vector<uint64_t> present, gone;
  TROUPE_MESSAGE(cached_blocks, model, engine, number, all, present, gone)
  bool operator==(const cached_blocks&) const = default;
};

/// llm_router → llm_engine: tell all cached blocks.
struct want_cached_blocks {
  llm_id model;
  TROUPE_MESSAGE(want_cached_blocks, model)
  bool operator==(const want_cached_blocks&) const = default;
};

/// llm_engine → llm_router: these were preempted (gave up their KV blocks to older ones) and wait.
struct sequences_preempted {
  llm_id model;
  engine_id engine;
  std::vector<request_id> requests;
  TROUPE_MESSAGE(sequences_preempted, model, engine, requests)
  bool operator==(const sequences_preempted&) const = default;
};

}  // namespace troupe
