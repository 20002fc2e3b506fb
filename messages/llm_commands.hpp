// What the actors of language models can be asked from outside. Part of commands.hpp, which has the rules.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/ids.hpp"
#include "messages/message.hpp"
#include "messages/time.hpp"

namespace troupe {

struct llm_engine_state {
  std::string model;
  std::string state;  ///< loading, serving, draining or unusable
  std::string problem;
  uint32_t layers = 0;  ///< of the model, with embedding and head; 0: not known yet
  uint32_t layers_ready = 0;
  uint32_t running = 0;  ///< texts
  uint32_t waiting = 0;
  uint32_t kv_blocks = 0;
  uint32_t kv_blocks_free = 0;
  uint64_t steps = 0;
  uint64_t prompt_tokens = 0;  ///< of texts that were taken
  uint64_t generated_tokens = 0;
  uint64_t evictions = 0;
  duration device_busy{};  ///< in steps
  uint32_t adapters = 0;   ///< that requests may name
  uint32_t adapter_slots = 0;
  uint32_t adapter_slots_taken = 0;
  uint64_t adapter_loads = 0;  ///< onto the device
  uint64_t adapter_reads = 0;  ///< of these: from disk
  TROUPE_MESSAGE(llm_engine_state, model, state, problem, layers, layers_ready, running, waiting, kv_blocks,
                 kv_blocks_free, steps, prompt_tokens, generated_tokens, evictions, device_busy, adapters,
                 adapter_slots, adapter_slots_taken, adapter_loads, adapter_reads)
};

struct list_adapters {
  static constexpr const char* about = "the adapters that requests may name, in the order of their names";
  uint32_t limit = 100;
  std::string after;  ///< only names behind this one
  TROUPE_MESSAGE(list_adapters, limit, after)
};
struct adapter_state {
  std::string name;
  std::string path;
  std::string place;     ///< away, loading, ready or fenced: it takes no new texts
  uint32_t running = 0;  ///< texts
  uint32_t requests_open = 0;
  uint64_t requests = 0;  ///< since it was registered
  uint64_t loads = 0;     ///< onto the device
  duration last_load{};   ///< from the order until it was there
  uint64_t bytes = 0;     ///< on the device, when it was there last
  std::string problem;    ///< with its files, when it was to be loaded last
  TROUPE_MESSAGE(adapter_state, name, path, place, running, requests_open, requests, loads, last_load, bytes,
                 problem)
};
struct adapter_list {
  uint64_t total = 0;
  std::vector<adapter_state> adapters;
  TROUPE_MESSAGE(adapter_list, total, adapters)
};

}  // namespace troupe
