// Events of this subject on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include <cstdint>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"
#include "messages/scaling/scaling_plan.hpp"

namespace troupe {

/// parameter_shard → chain_link: pull the images of a model, which the node's store has now. They wait for
/// the end of pulls that still write to former ones.
struct begin_link {
  weights_id model;
  node_id from;
  uint64_t order = 0;  ///< ascending by model; the latest one is given back in `link_changed`
  TROUPE_MESSAGE(begin_link, model, from, order)
};

/// parameter_shard → chain_link: start no further pull. `link_changed` tells when none is under way.
struct end_link {
  weights_id model;
  uint64_t order = 0;  ///< as in `begin_link`
  TROUPE_MESSAGE(end_link, model, order)
};

/// chain_link → parameter_shard: its state has changed, or an order changed nothing.
struct link_changed {
  weights_id model;
  uint64_t order = 0;   ///< the latest one that it has carried out
  bool busy = false;    ///< pulls may still write to the images
  bool linked = false;  ///< it follows a node:
  node_id from;
  uint64_t pulled = 0;    ///< bytes that arrived, since the process began
  uint64_t repeated = 0;  ///< bytes asked for again
  TROUPE_MESSAGE(link_changed, model, order, busy, linked, from, pulled, repeated)
};

/// chain_link → parameter_shard: the measured rate of the flow from a peer, after each sample of its pulls.
struct rate_measured {
  node_id from;
  double gbit_per_s = 0;
  TROUPE_MESSAGE(rate_measured, from, gbit_per_s)
};

/// To the parameter_shard: chunks of some images have become ready.
struct images_changed {
  TROUPE_MESSAGE(images_changed)
};

/// parameter_shard → deployer: load the model now. Its files are in memory, or do not come: then the log says
/// why, and they are on the disk if anywhere.
struct files_settled {
  model_id model;
  TROUPE_MESSAGE(files_settled, model)
};

/// parameter_pool → scale_planner: the instances of a model with a scaling loop, after changes.
struct instances_known {
  llm_id model;
  bool known = false;       ///< false: its node does not lead, or does not know yet what there is
  uint32_t ordered = 0;     ///< instances, as last ordered by anyone
  uint32_t starting = 0;    ///< of these: they load, or wait for room or weights
  bool wants_more = false;  ///< there are fewer places for them
  uint32_t prefill = 0;     ///< of those ordered; 0: the model is not disaggregated
  TROUPE_MESSAGE(instances_known, model, known, ordered, starting, wants_more, prefill)
  bool operator==(const instances_known&) const = default;
};

/// scale_planner → parameter_pool: give the model this many instances. Answered with `instances_ordered`,
/// unless its node does not lead, and then with `instances_known`.
struct order_instances {
  llm_id model;
  uint32_t instances = 0;
  bool dry_run = false;  ///< only answer what would happen
  uint32_t prefill = 0;  ///< of these; 0: the model is not disaggregated
  TROUPE_MESSAGE(order_instances, model, instances, dry_run, prefill)
};

/// parameter_pool → scale_planner.
struct instances_ordered {
  llm_id model;
  uint32_t instances = 0;
  scaling_plan plan;
  TROUPE_MESSAGE(instances_ordered, model, instances, plan)
};

using scaling_events = type_list<begin_link, end_link, link_changed, rate_measured, images_changed,
                                 files_settled, instances_known, order_instances, instances_ordered>;

}  // namespace troupe
