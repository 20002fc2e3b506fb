// Decides which nodes get and drop the images of models, and from where they come (BlitzScale §4, §5.3:
// parameters come over the network from nodes that have them, and from disk only if nobody has).
#pragma once
#include <string>
#include <vector>

#include "policies/scaling/copy_sources.hpp"
#include "policies/scaling/link_rates.hpp"
#include "policies/scaling/scaling_view.hpp"

namespace troupe {

struct copy_drop {
  node_id node;
  weights_id model;
  bool operator==(const copy_drop&) const = default;
};

struct copy_plan {
  std::vector<copy_place> places;  ///< ascending by model; the nodes of a chain in its order
  std::vector<copy_drop> drops;    ///< one for each model at most
};

/// A node that is to get the images of a model for an engine, or the files of a tensor model.
struct copy_target {
  node_id node;
  weights_id model;
};

/// - Targets, and as many further nodes as a model's number of copies wants, get the images in chains
///   (multicast_plan.hpp) from nodes that have them and feed no one, or from the ends of chains under way. If
///   no node has or gets them, the node with the most chunks reads the checkpoint, and the others follow it.
///   Files of a tensor model are read where the disk has them, in the size that chunks have that are there;
///   without such a node they wait.
///   A node whose link is busy with another model's images opens no chain while another source can.
/// - Further copies go where a part is already, then where images take the smallest part of the capacity, so
///   that bytes are spread evenly. Targets come before them.
/// - A node whose chain of sources ends at no complete images and no reader gets another source, from its
///   first missing chunk on. Thus sources never form a cycle.
/// - Images wait until their node has room, and until earlier ones of the same model are gone.
/// - Images are dropped where no engine needs them, no needed transfer comes over them, and enough complete
///   copies are left, first where a target waits for room. `view` counts only those that shards have
///   reported, so the last copy is never dropped. Images with a problem stay while instances are missing, so
///   that a node does not try again and again.
///
/// This is the policy `blitz`, and those of the same plans (`blitz_multicast`, `static_…`). Others differ for
/// language models:
/// - `blitz_network`: no chains; each node pulls from one that has all images, or reads them.
/// - `all_cache`: every node with a place and room gets a copy. It goes where a target waits for room.
/// - `serverless`: a node reads its own disk. Its images stay for `keep` after the last request; where a
///   target waits for room, the least recently used ones go earlier.
copy_plan plan_copies(const scaling_view& view, const std::vector<copy_target>& targets,
                      const link_rates& rates);

}  // namespace troupe
