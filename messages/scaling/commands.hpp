// Commands to the actors of scaling (rules: messages/common/commands.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/commands.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/scaling/scaling_plan.hpp"

namespace troupe {

// Of a parameter pool.

struct copy_state {
  std::string model;
  std::string node;
  uint32_t chunks = 0;
  uint32_t ready = 0;     ///< chunks [0, n) are in the node's memory
  std::string from;       ///< node or "checkpoint"; empty: nothing arrives. Of a tensor model also "disk"
  uint64_t bytes = 0;     ///< of all chunks
  uint64_t pulled = 0;    ///< of bytes: came from peers
  uint64_t repeated = 0;  ///< asked for again, after a pull that failed
  std::string problem;    ///< why they cannot be completed
  TROUPE_MESSAGE(copy_state, model, node, chunks, ready, from, bytes, pulled, repeated, problem)
};
struct instance_state {
  std::string model;
  uint32_t engine = 0;
  std::string node;
  std::string stage;  ///< idle, loading, serving, draining, parked, unusable or away
  std::string phase;  ///< both, prefill or decode; empty: away
  TROUPE_MESSAGE(instance_state, model, engine, node, stage, phase)
};
struct wanted_instances {
  std::string model;
  uint32_t instances = 0;
  uint32_t prefill = 0;  ///< of these; 0: the model is not disaggregated
  TROUPE_MESSAGE(wanted_instances, model, instances, prefill)
};
struct measured_link {
  std::string from, to;
  double gbit_per_s = 0;  ///< of one flow, as `to` has pulled weights
  TROUPE_MESSAGE(measured_link, from, to, gbit_per_s)
};
struct measured_disk {
  std::string node;
  double gbit_per_s = 0;  ///< of weights that it has read and packed
  TROUPE_MESSAGE(measured_disk, node, gbit_per_s)
};
struct parameter_pool_state {
  bool leads = false;                    ///< its node is the leader; else it only listens
  std::vector<wanted_instances> wanted;  ///< of models whose number it knows
  std::vector<instance_state> instances;
  std::vector<copy_state> copies;
  uint64_t copies_placed = 0;  ///< orders of this process
  uint64_t copies_dropped = 0;
  uint64_t relinked = 0;  ///< copies that were ordered from another node before they were complete
  std::vector<measured_link> links;
  std::vector<measured_disk> disks;
  TROUPE_MESSAGE(parameter_pool_state, leads, wanted, instances, copies, copies_placed, copies_dropped,
                 relinked, links, disks)
};

struct scale_model {
  static constexpr const char* about = "give a model this many instances";
  std::string model;
  uint32_t instances = 0;
  bool dry_run = false;  ///< only answer what would happen
  uint32_t prefill = 0;  ///< of these; for a model that is disaggregated
  TROUPE_MESSAGE(scale_model, model, instances, dry_run, prefill)
};

// Of a scale planner.

struct resource_state {
  std::string resource;    ///< prefill (tokens a second), kv (tokens) or sequences
  double demand = 0;       ///< of all requests
  double of_instance = 0;  ///< what one instance has; 0: not measured yet
  double low = 0, high = 0;
  uint32_t min = 0, max = 0;  ///< instances that the demand needs at the upper and at the lower bound
  TROUPE_MESSAGE(resource_state, resource, demand, of_instance, low, high, min, max)
};
struct model_scaling {
  std::string model;
  std::string mode;         ///< off, advise or apply
  uint32_t ordered = 0;     ///< instances, as last ordered by anyone
  uint32_t starting = 0;    ///< of these: they load, or wait for room or weights
  uint32_t wanted = 0;      ///< by the load
  bool wants_more = false;  ///< there are fewer places than instances ordered
  std::string reason;  ///< of `wanted` (policies/scaling/scale_rule.hpp); empty: no load has been measured
  double arriving_per_s = 0;    ///< tokens
  uint64_t waiting_tokens = 0;  ///< to be prefilled
  std::vector<resource_state> resources;
  uint32_t wanted_prefill = 0;  ///< of `wanted`; 0: the model is not disaggregated
  TROUPE_MESSAGE(model_scaling, model, mode, ordered, starting, wanted, wants_more, reason, arriving_per_s,
                 waiting_tokens, resources, wanted_prefill)
};
struct scale_planner_state {
  bool leads = false;                 ///< its node is the leader; else it only listens
  std::vector<model_scaling> models;  ///< that have an [llm.scaling]
  TROUPE_MESSAGE(scale_planner_state, leads, models)
};

struct explain_scaling {
  static constexpr const char* about = "the latest decisions on numbers of instances, the newest first";
  uint32_t limit = 10;
  std::string model;  ///< empty: all
  TROUPE_MESSAGE(explain_scaling, limit, model)
};
struct scaling_decision {
  std::string model;
  duration age{};
  bool applied = false;  ///< false: advice
  uint32_t from = 0, to = 0;
  std::string reason;           ///< above or below
  uint32_t min = 0, max = 0;    ///< instances that the load needs, within min_instances and max_instances
  double arriving_per_s = 0;    ///< tokens
  uint64_t waiting_tokens = 0;  ///< to be prefilled
  std::vector<resource_state> resources;
  scaling_plan plan;
  uint32_t from_prefill = 0, to_prefill = 0;  ///< of `from` and `to`; 0: the model is not disaggregated
  TROUPE_MESSAGE(scaling_decision, model, age, applied, from, to, reason, min, max, arriving_per_s,
                 waiting_tokens, resources, plan, from_prefill, to_prefill)
};
struct scaling_story {
  std::vector<scaling_decision> decisions;
  TROUPE_MESSAGE(scaling_story, decisions)
};

// Of a parameter shard.

struct parameter_shard_state {
  uint64_t capacity = 0;   ///< bytes for images
  uint64_t in_use = 0;     ///< bytes
  uint32_t models = 0;     ///< with images
  uint32_t followers = 0;  ///< chain links of other nodes that follow them
  uint64_t dropped = 0;    ///< bytes of dropped images that peers may still pull
  TROUPE_MESSAGE(parameter_shard_state, capacity, in_use, models, followers, dropped)
};

// Of a chain link.

struct link_state {
  std::string model;
  std::string from;  ///< the node that it pulls from; empty: none
  uint32_t chunks = 0;
  uint32_t ready = 0;
  uint32_t in_flight = 0;  ///< pulls
  uint64_t pulled = 0;     ///< bytes that arrived, since the process began
  uint64_t repeated = 0;   ///< bytes asked for again
  uint64_t damaged = 0;    ///< chunks with a wrong hash
  TROUPE_MESSAGE(link_state, model, from, chunks, ready, in_flight, pulled, repeated, damaged)
};
struct chain_link_state {
  std::vector<link_state> links;  ///< by model
  TROUPE_MESSAGE(chain_link_state, links)
};

using parameter_pool_commands =
    type_list<exchange<get_state, parameter_pool_state>, exchange<scale_model, scaling_plan>>;
using scale_planner_commands =
    type_list<exchange<get_state, scale_planner_state>, exchange<explain_scaling, scaling_story>>;
using parameter_shard_commands = type_list<exchange<get_state, parameter_shard_state>>;
using chain_link_commands = type_list<exchange<get_state, chain_link_state>>;

}  // namespace troupe
