// A generation request that a gateway has accepted, kept until it has its outcome.
#pragma once
#include <cstdint>
#include <vector>

#include "actors/common/in_flight_requests.hpp"
#include "messages/llm/generation.hpp"
#include "messages/llm/routing.hpp"
#include "policies/llm/open_choices.hpp"

namespace troupe {

struct in_flight_generation : in_flight_state {
  generation asked;  ///< as for its first engine
  open_choices choices;
  std::vector<uint64_t> prefix;  ///< for its router; empty: not used
  engine_id at = no_engine;
  engine_id next = no_engine;       ///< gets the request once `at` has handed it over
  engine_id decode_at = no_engine;  ///< gets it once `at`, which only prefills, has done so
  uint32_t version = 1;             ///< of its state at the router (messages/llm/routing.hpp)
  uint32_t attempt = 0;             ///< number of engines that it was sent to
  uint32_t losses = 0;              ///< number of engines that were lost with it
  time_point first_token_at = never, last_token_at = never;

  bool started() const { return first_token_at != never; }
  /// No engine has it, or is to have it.
  void leave() { at = next = decode_at = no_engine; }
  /// The state for its router: its engine, and the length of its sequences.
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
    r.at = next == no_engine ? at : next;
    r.decode_at = decode_at;
    if (at == no_engine) r.prefix = prefix;
    return r;
  }
};

}  // namespace troupe
