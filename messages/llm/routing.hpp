// How the requests of a language model find their engines. Gateways tell a router what they have, the router
// says which engine it goes to, and moves it later if that is better. What a request is, and what it has got
// so far, only its gateway knows: a router that is new, or another, learns all from gateways.
//
// A gateway raises a request's `version` whenever it tells the router where the request is; what a router
// decided of an earlier version is void. So they agree whatever crosses on the way.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// What a router knows of a request.
struct routed_request {
  request_id id;
  uint32_t version = 0;
  std::string adapter;
  uint32_t sequences = 1;  ///< that go on
  uint64_t tokens = 0;     ///< of all of them, prompts with what follows
  time_point arrival = never;
  int32_t priority = 0;
  time_point due = never;    ///< of the first token
  duration tpot{};           ///< target for the others; zero: none
  bool started = false;      ///< its client has seen tokens: it is refused no more
  engine_id at = no_engine;  ///< where it is
  TROUPE_MESSAGE(routed_request, id, version, adapter, sequences, tokens, arrival, priority, due, tpot,
                 started, at)
  bool operator==(const routed_request&) const = default;
};

/// llm_gateway → llm_router: requests that are nowhere are to be placed.
struct route {
  llm_id model;
  bool all = false;  ///< the gateway has no others
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

/// Why a request goes where it goes.
enum class route_reason : uint16_t {
  placed,        ///< it was nowhere
  preempted,     ///< its engine ran out of KV blocks
  drained,       ///< its engine is to become empty
  consolidated,  ///< so that its engine becomes idle (Punica §5.3)
  asked          ///< by an operator
};
inline constexpr size_t route_reason_count = 5;
std::string_view to_string(route_reason r);

struct placement {
  request_id id;
  uint32_t version = 0;
  engine_id to;
  route_reason why = route_reason::placed;
  TROUPE_MESSAGE(placement, id, version, to, why)
  bool operator==(const placement&) const = default;
};

/// llm_router → llm_gateway: where its requests go, in this order. What cannot go anywhere is dropped
/// (`drops`, with the version as its attempt).
struct placements {
  llm_id model;
  std::vector<placement> requests;
  TROUPE_MESSAGE(placements, model, requests)
  bool operator==(const placements&) const = default;
};

/// llm_engine → llm_router: these gave their KV blocks up to older ones, and wait.
struct sequences_preempted {
  llm_id model;
  engine_id engine;
  std::vector<request_id> requests;
  TROUPE_MESSAGE(sequences_preempted, model, engine, requests)
  bool operator==(const sequences_preempted&) const = default;
};

}  // namespace troupe
