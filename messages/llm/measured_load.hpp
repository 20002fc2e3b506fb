// The load of a language model, as its router measures it.
#pragma once
#include <cstdint>

#include "messages/llm/generation.hpp"

namespace troupe {

/// llm_router → scale_planner: ten times a second, if the model has a scaling loop.
struct measured_load {
  llm_id model;
  double arriving_per_s = 0;       ///< tokens of new requests
  uint64_t waiting_tokens = 0;     ///< of requests without an engine
  uint64_t uncomputed_tokens = 0;  ///< on engines, to be prefilled
  uint64_t kv_tokens = 0;          ///< in the KV caches of engines
  uint32_t waiting = 0;            ///< sequences that do not run
  uint32_t running = 0;            ///< sequences

  // Of one engine, in the mean over those that serve; `steps`: that prefill, if some do nothing else. 0: not
  // known, or none serves.
  uint32_t max_sequences = 0;
  uint32_t max_kv_tokens = 0;
  step_forecast steps;
  bool decode_full =
      false;  ///< prefills are disaggregated, and no engine has room to decode one sequence more
  TROUPE_MESSAGE(measured_load, model, arriving_per_s, waiting_tokens, uncomputed_tokens, kv_tokens, waiting,
                 running, max_sequences, max_kv_tokens, steps, decode_full)
  bool operator==(const measured_load&) const = default;
};

}  // namespace troupe
