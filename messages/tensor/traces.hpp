// What gateways and workers record for `troupe trace`, and the commands for it. Part of commands.hpp.
//
// Times are of the clock of the actor's node.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/request.hpp"

namespace troupe {

/// Most entries that an actor records before they are taken.
inline constexpr uint32_t largest_trace = 65536;

struct start_trace {
  static constexpr const char* about =
      "record what happens, into a ring of `capacity` entries, until stop_trace";
  uint32_t capacity = 4096;
  uint32_t sample = 1;  ///< of requests, every so manieth id; batches are recorded all
  TROUPE_MESSAGE(start_trace, capacity, sample)
};
struct stop_trace {
  static constexpr const char* about = "record nothing any more, and forget what was recorded";
  TROUPE_MESSAGE(stop_trace)
};
struct take_trace {
  static constexpr const char* about = "hand over what was recorded since the last call, oldest first";
  uint32_t limit = 1000;
  TROUPE_MESSAGE(take_trace, limit)
};

/// One request as its gateway saw it. Times are `never` for stations that it did not reach.
struct request_trace {
  request_id id;
  model_id model;
  uint32_t rows = 0;
  std::string outcome;  ///< finished, dropped or failed
  std::string reason;   ///< of a drop or failure
  batch_id batch;       ///< 0: none
  slot_id slot;         ///< of that batch
  time_point arrival = never;
  time_point accepted_at = never;  ///< parsed, its input in registered memory
  batch_times times{};
  time_point completed_at = never;  ///< the gateway knows that its batch is done
  time_point answered_at = never;
  TROUPE_MESSAGE(request_trace, id, model, rows, outcome, reason, batch, slot, arrival, accepted_at, times,
                 completed_at, answered_at)
};
struct traced_requests {
  uint64_t lost = 0;  ///< entries that the ring had no room for since the last call
  bool more = false;  ///< entries are left: ask again
  std::vector<request_trace> requests;
  TROUPE_MESSAGE(traced_requests, lost, more, requests)
};

struct batch_trace {
  batch_id batch;
  model_id model;
  slot_id slot;
  uint32_t rows = 0;
  uint32_t requests = 0;
  std::string refused;  ///< why it did not run, or "preempted": it was stopped; empty: it ran
  batch_times times{};
  TROUPE_MESSAGE(batch_trace, batch, model, slot, rows, requests, refused, times)
};
struct traced_batches {
  uint64_t lost = 0;
  bool more = false;
  std::vector<batch_trace> batches;
  TROUPE_MESSAGE(traced_batches, lost, more, batches)
};

}  // namespace troupe
