// Events of this subject on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include <cstdint>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"

namespace troupe {

/// parameter_shard → chain_link: pull the images of its model, which the node's store has now. They wait for
/// the end of pulls that still write to former ones.
struct begin_link {
  node_id from;
  uint64_t order = 0;  ///< ascending; the latest one is given back in `link_changed`
  TROUPE_MESSAGE(begin_link, from, order)
};

/// parameter_shard → chain_link: start no further pull. `link_changed` tells when none is under way.
struct end_link {
  uint64_t order = 0;  ///< as in `begin_link`
  TROUPE_MESSAGE(end_link, order)
};

/// chain_link → parameter_shard: its state has changed, or an order changed nothing.
struct link_changed {
  llm_id model;
  uint64_t order = 0;   ///< the latest one that it has carried out
  bool busy = false;    ///< pulls may still write to the images
  bool linked = false;  ///< it follows a node:
  node_id from;
  uint64_t pulled = 0;    ///< bytes that arrived, since the process began
  uint64_t repeated = 0;  ///< bytes asked for again
  TROUPE_MESSAGE(link_changed, model, order, busy, linked, from, pulled, repeated)
};

/// To the parameter_shard: chunks of some images have become ready.
struct images_changed {
  TROUPE_MESSAGE(images_changed)
};

using scaling_events = type_list<begin_link, end_link, link_changed, images_changed>;

}  // namespace troupe
