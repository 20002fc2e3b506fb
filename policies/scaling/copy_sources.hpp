// Sources of images, for the nodes that are to get them.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "messages/common/time.hpp"
#include "policies/scaling/link_rates.hpp"
#include "policies/scaling/scaling_view.hpp"

namespace troupe {

struct copy_place {
  node_id node;
  weights_id model;
  node_id from;        ///< the node itself: it reads the checkpoint
  duration finish{};   ///< predicted time until all has arrived; 0: unknown, as a rate is
  uint64_t bytes = 0;  ///< of files of a tensor model that come from another node
  bool operator==(const copy_place&) const = default;
};

/// The models whose images leave a node over its link.
using sent_models = std::map<node_id, std::set<weights_id>>;

/// The images of one model. The arguments outlive it.
class copy_sources {
 public:
  copy_sources(const scaling_view& v, const scaling_view::model& m, const link_rates& rates,
               const sent_models& sent)
      : view_(v), model_(m), rates_(rates), sent_(sent) {}

  /// The node reads its checkpoint.
  copy_place read(node_id node) const;
  /// Each target pulls from the one before it in a chain (multicast_plan.hpp). `sources` have all images, or
  /// get them; `reading`: the time until the only source has read them; 0: it does not read, or that is
  /// unknown. In the order of the chains.
  std::vector<copy_place> chains(const std::vector<node_id>& sources, const std::vector<node_id>& targets,
                                 duration reading) const;
  /// Each target pulls from a source, which sends the images to each of its targets.
  std::vector<copy_place> stars(const std::vector<node_id>& sources, const std::vector<node_id>& targets,
                                duration reading) const;

 private:
  bool has(node_id n) const;
  double rate(node_id from, node_id to) const;
  bool sends_other_models(node_id n) const;
  copy_place pulled(node_id to, node_id from, duration finish) const;

  const scaling_view& view_;
  const scaling_view::model& model_;
  const link_rates& rates_;
  const sent_models& sent_;
};

}  // namespace troupe
