// Events of this subject on the own node (rules: actors/runtime/events.hpp).
#pragma once
#include <cstdint>

#include "messages/common/ids.hpp"
#include "messages/common/message.hpp"

namespace troupe {

/// parameter_shard → chain_link: pull the images of its model, which the node's store has now.
struct begin_link {
  node_id from;
  TROUPE_MESSAGE(begin_link, from)
};

/// parameter_shard → chain_link: start no further pull, and tell when none is under way.
struct end_link {
  TROUPE_MESSAGE(end_link)
};

/// chain_link → parameter_shard: its state has changed.
struct link_changed {
  llm_id model;
  bool pulling = false;   ///< false: it has ended, or has lost the node that it pulled from
  uint64_t pulled = 0;    ///< bytes of these images that arrived
  uint64_t repeated = 0;  ///< bytes asked for again
  TROUPE_MESSAGE(link_changed, model, pulling, pulled, repeated)
};

/// To the parameter_shard: chunks of some images have become ready.
struct images_changed {
  TROUPE_MESSAGE(images_changed)
};

using scaling_events = type_list<begin_link, end_link, link_changed, images_changed>;

}  // namespace troupe
