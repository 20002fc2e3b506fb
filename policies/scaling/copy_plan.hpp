// Decides which nodes get and drop the images of models, and from where they come (BlitzScale §4, §5.3:
// parameters come over the network from nodes that have them, and from disk only if nobody has).
#pragma once
#include <string>
#include <vector>

#include "messages/common/time.hpp"
#include "policies/scaling/link_rates.hpp"
#include "policies/scaling/multicast_plan.hpp"
#include "policies/scaling/scaling_view.hpp"

namespace troupe {

struct copy_place {
  node_id node;
  llm_id model;
  node_id from;       ///< the node itself: it reads the checkpoint
  duration finish{};  ///< predicted time until all has arrived; 0: unknown
  bool operator==(const copy_place&) const = default;
};
struct copy_drop {
  node_id node;
  llm_id model;
  bool operator==(const copy_drop&) const = default;
};

struct copy_plan {
  std::vector<copy_place> places;  ///< ascending by model; the nodes of a chain in its order
  std::vector<copy_drop> drops;    ///< one for each model at most
};

/// A node that is to get the images of a model for an engine.
struct copy_target {
  node_id node;
  llm_id model;
};

/// - Targets, and as many further nodes as a model's number of copies wants, get the images in chains
///   (multicast_plan.hpp) from nodes that have them and feed no one, or from the ends of chains under way. If
///   no node has or gets them, the first target reads the checkpoint, and the others follow it.
/// - Further copies go where images take the smallest part of the capacity, so that bytes are spread evenly.
/// - A node whose source is down, or drops the images, gets another source, from its first missing chunk on.
/// - Images are dropped where no engine uses them, nobody is fed from, and enough complete copies remain.
///   `view` counts only those that shards have reported, so the last copy is never dropped.
copy_plan plan_copies(const scaling_view& view, const std::vector<copy_target>& targets,
                      const link_rates& rates);

}  // namespace troupe
