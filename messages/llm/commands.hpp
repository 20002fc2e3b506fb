// Commands to the actors of language models (rules: messages/common/commands.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/commands.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/ledger.hpp"
#include "messages/common/time.hpp"

namespace troupe {

struct llm_engine_state {
  std::string model;
  std::string state;  ///< loading, serving, draining or unusable
  std::string phase;  ///< both, prefill or decode: its part in requests
  std::string problem;
  uint32_t layers = 0;  ///< of the model, with embedding and head; 0: not known yet
  uint32_t layers_ready = 0;
  uint32_t running = 0;  ///< sequences
  uint32_t waiting = 0;
  uint32_t kv_blocks = 0;
  uint32_t kv_blocks_free = 0;    ///< that no sequence holds, also if they are cached
  uint32_t kv_blocks_cached = 0;  ///< of these: kept for sequences that begin alike
  uint64_t steps = 0;
  uint64_t prompt_tokens = 0;  ///< of accepted sequences
  uint64_t cache_queries = 0;  ///< tokens of the sequences that began; 0 without a prefix cache
  uint64_t cache_hits = 0;     ///< of these: found in the prefix cache
  uint64_t generated_tokens = 0;
  uint64_t computed_tokens = 0;  ///< whose keys and values its steps have computed
  uint64_t preemptions = 0;
  uint32_t kv_leases = 0;  ///< on blocks of requests that it has handed over
  uint64_t kv_pulls = 0;   ///< of keys and values of requests that were handed over to it
  uint64_t kv_pulls_failed =
      0;  ///< of these: their sequences compute the positions, unless they were cancelled
  uint64_t kv_positions_pulled = 0;  ///< by the others
  uint64_t kv_bytes_pulled = 0;
  duration device_busy{};  ///< in steps
  uint32_t adapters = 0;   ///< registered
  uint32_t adapter_slots = 0;
  uint32_t adapter_slots_taken = 0;
  uint64_t adapter_loads = 0;  ///< onto the device
  uint64_t adapter_reads = 0;  ///< of these: from disk
  TROUPE_MESSAGE(llm_engine_state, model, state, phase, problem, layers, layers_ready, running, waiting,
                 kv_blocks, kv_blocks_free, kv_blocks_cached, steps, prompt_tokens, cache_queries, cache_hits,
                 generated_tokens, computed_tokens, preemptions, kv_leases, kv_pulls, kv_pulls_failed,
                 kv_positions_pulled, kv_bytes_pulled, device_busy, adapters, adapter_slots,
                 adapter_slots_taken, adapter_loads, adapter_reads)
};

struct router_engine {
  uint32_t engine = 0;
  uint32_t node = 0;       ///< its position in the cluster file
  std::string state;       ///< away, closed (takes no more sequences) or open
  std::string phase;       ///< both, prefill or decode
  uint32_t sequences = 0;  ///< that the router has placed there
  uint32_t expected = 0;   ///< of these: requests that others prefill for it
  uint32_t running = 0;    ///< as in the engine's last status
  uint32_t waiting = 0;
  uint64_t free_tokens = 0;  ///< of its KV cache, less sequences on their way there
  uint32_t adapters = 0;     ///< of its sequences
  TROUPE_MESSAGE(router_engine, engine, node, state, phase, sequences, expected, running, waiting,
                 free_tokens, adapters)
};
struct llm_router_state {
  std::string model;
  std::string routing;
  std::vector<router_engine> engines;
  uint32_t requests = 0;  ///< known to it
  uint32_t waiting = 0;   ///< of these: waiting for an engine
  uint64_t cached_blocks =
      0;  ///< different ones in the prefix caches of its engines, with the routing `prefix`
  uint32_t idle_engines = 0;  ///< open ones without sequences: could be released
  bool wants_more = false;    ///< every open engine is nearly full: one more would get requests at once
  uint64_t placed = 0;
  uint64_t preempted = 0;  ///< moved because KV blocks ran out
  uint64_t drained = 0;
  uint64_t consolidated = 0;
  uint64_t asked = 0;    ///< moved by operators
  uint64_t refused = 0;  ///< dropped: the queue was full, the deadline passed, or no engine was available
  TROUPE_MESSAGE(llm_router_state, model, routing, engines, requests, waiting, cached_blocks, idle_engines,
                 wants_more, placed, preempted, drained, consolidated, asked, refused)
};

struct list_generations {
  static constexpr const char* about = "requests of the model, in the order of their ids";
  uint32_t limit = 100;
  uint64_t after = 0;  ///< only ids greater than this
  TROUPE_MESSAGE(list_generations, limit, after)
};
struct generation_state {
  uint64_t request = 0;
  std::string adapter;
  bool waiting = false;    ///< for an engine
  uint32_t engine = 0;     ///< else
  uint32_t sequences = 0;  ///< unfinished ones
  duration age{};
  TROUPE_MESSAGE(generation_state, request, adapter, waiting, engine, sequences, age)
};
struct generation_list {
  uint64_t total = 0;
  std::vector<generation_state> generations;
  TROUPE_MESSAGE(generation_list, total, generations)
};

struct migrate {
  static constexpr const char* about = "move a request to another engine; its stream continues there";
  uint64_t request = 0;
  uint32_t engine = 0;
  TROUPE_MESSAGE(migrate, request, engine)
};
struct drain_engine {
  static constexpr const char* about =
      "move the sequences of an engine to other engines, and give it no new ones";
  uint32_t engine = 0;
  bool open = false;  ///< instead: it takes sequences again
  TROUPE_MESSAGE(drain_engine, engine, open)
};

struct list_adapters {
  static constexpr const char* about = "adapters that requests may name, in the order of their names";
  uint32_t limit = 100;
  std::string after;  ///< only names after this one
  TROUPE_MESSAGE(list_adapters, limit, after)
};
struct adapter_state {
  std::string name;
  std::string path;
  std::string place;     ///< away, loading, ready or fenced (takes no new sequences)
  uint32_t running = 0;  ///< sequences
  uint32_t requests_open = 0;
  uint64_t requests = 0;  ///< since it was registered
  uint64_t loads = 0;     ///< onto the device
  duration last_load{};   ///< from the request to load it until it was ready
  uint64_t bytes = 0;     ///< on the device, when it was last loaded
  std::string problem;    ///< with its files, at its last load
  TROUPE_MESSAGE(adapter_state, name, path, place, running, requests_open, requests, loads, last_load, bytes,
                 problem)
};
struct adapter_list {
  uint64_t total = 0;
  std::vector<adapter_state> adapters;
  TROUPE_MESSAGE(adapter_list, total, adapters)
};

using llm_gateway_commands =
    type_list<exchange<get_state, gateway_state>, exchange<get_ledger, ledger_report>>;
using llm_router_commands =
    type_list<exchange<get_state, llm_router_state>, exchange<list_generations, generation_list>,
              exchange<migrate, acknowledged>, exchange<drain_engine, acknowledged>>;
using llm_engine_commands =
    type_list<exchange<get_state, llm_engine_state>, exchange<list_adapters, adapter_list>>;

}  // namespace troupe
