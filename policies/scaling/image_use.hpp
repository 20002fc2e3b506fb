// When the images on nodes were last used, for the policy `serverless`, which keeps them for a time after
// that.
#pragma once
#include <algorithm>
#include <map>
#include <utility>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "policies/scaling/scaling_view.hpp"

namespace troupe {

class image_use {
 public:
  /// An engine on the node has requests of the model, or loads it.
  void learn(node_id node, weights_id model, time_point now) { used_[{node, model}] = now; }

  /// Adds to each node for how long its images were unused; nothing is known of the time before `since`.
  void add_to(scaling_view& v, time_point since, time_point now) const {
    for (auto& n : v.nodes)
      for (const auto& i : n.images) {
        const auto used = used_.find({n.id, i.model});
        n.unused[i.model] = now - (used == used_.end() ? since : std::max(since, used->second));
      }
  }
  /// When the next images will have been unused for `v.keep`; `never`: none.
  static time_point next_unused(const scaling_view& v, time_point now) {
    auto next = never;
    for (const auto& n : v.nodes)
      for (const auto& [model, unused] : n.unused)
        if (unused < v.keep) next = std::min(next, now + v.keep - unused);
    return next;
  }

 private:
  std::map<std::pair<node_id, weights_id>, time_point> used_;
};

}  // namespace troupe
