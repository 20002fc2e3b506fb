// `troupe migrate --engine` and `troupe drain --engine`: which engines have the sequences of a running
// cluster.
#pragma once
#include <cstdint>
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct engine_change {
  uint32_t engine = 0;  ///< its engine_id: by model, in the order in which it names its nodes
  bool open = false;    ///< of a drained one: it takes sequences again
  double wait_s = 0;    ///< 0: return at once; else: until it is empty
  bool json = false;
};

/// Both return 0 if it was accepted (with a wait: done), 1 if not, 2 for bad input, and print one line, or
/// one JSON document. `request`: its id, as `list_generations` of an llm_router tells it.
int migrate_request(const cluster_spec& cluster, const std::string& request, const engine_change& to);
int drain_engine_of(const cluster_spec& cluster, const engine_change& what);

}  // namespace troupe
