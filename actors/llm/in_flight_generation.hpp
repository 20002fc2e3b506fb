// A generation request that a gateway has accepted, until it has its outcome.
#pragma once
#include <cstdint>

#include "actors/common/in_flight_requests.hpp"
#include "messages/llm/generation.hpp"
#include "messages/llm/routing.hpp"
#include "policies/llm/open_choices.hpp"

namespace troupe {

struct in_flight_generation : in_flight_state {
  generation asked;  ///< as the first engine would get it
  open_choices choices;
  engine_id at = no_engine;
  uint32_t version = 1;  ///< of its place, for the router (messages/llm/routing.hpp)
  uint32_t attempt = 0;  ///< of the last engine
  uint32_t losses = 0;   ///< engines that died with it
  time_point first_token_at = never, last_token_at = never;

  bool started() const { return first_token_at != never; }
  /// Where it is and how long its sequences have become, as its router is told.
  routed_request routed() const {
    routed_request r;
    r.id = asked.id;
    r.version = version;
    r.adapter = asked.adapter;
    r.sequences = choices.left();
    r.tokens = choices.tokens(asked.prompt.size());
    r.arrival = asked.arrival;
    r.priority = asked.priority;
    r.due = asked.due;
    r.tpot = asked.tpot;
    r.started = started();
    r.at = at;
    return r;
  }
};

}  // namespace troupe
