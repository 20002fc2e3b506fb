// `troupe migrate --engine` and `troupe drain --engine`: move the sequences of a running cluster between
// engines.
#pragma once
#include <cstdint>
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct engine_change {
  uint32_t engine = 0;  ///< its engine_id: numbered by model, in the order of the model's nodes
  bool open = false;    ///< of a drained engine: accept sequences again
  double wait_s = 0;    ///< 0: return at once; else: until it is empty
  bool json = false;
};

/// Both return 0 if the command was accepted (with a wait: done), 1 if not, 2 for bad input, and print one
/// line, or one JSON document. `request`: its id, as listed by `list_generations` of an llm_router.
int migrate_request(const cluster_spec& cluster, const std::string& request, const engine_change& to);
int drain_engine_of(const cluster_spec& cluster, const engine_change& what);

}  // namespace troupe
