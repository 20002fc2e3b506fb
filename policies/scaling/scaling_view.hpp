// The language models of a cluster that scale, as the leader sees them: from inventories of shards, statuses
// of engines, and orders that these do not show yet (pending_orders.hpp). All vectors are in the order of
// ids, so that equal views give equal decisions.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "messages/cluster/scaling_policy.hpp"
#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/llm/instance_phase.hpp"
#include "messages/llm/instance_stage.hpp"
#include "messages/scaling/image_transfer.hpp"
#include "policies/scaling/multicast_problem.hpp"

namespace troupe {

struct scaling_view {
  struct model {
    weights_id id;
    std::string name;
    uint32_t wanted = 0;   ///< instances
    uint64_t bytes = 0;    ///< of its images; 0: engines load by themselves, and no images are kept
    uint32_t prefill = 0;  ///< of `wanted`; 0: the model is not disaggregated
  };
  /// A place whose node is up, and whose engine has reported.
  struct place {
    engine_id engine;
    weights_id model;
    node_id node;
    instance_stage stage = instance_stage::idle;
    bool unusable = false;      ///< its model cannot be loaded there
    uint32_t sequences = 0;     ///< running and waiting
    bool park_is_over = false;  ///< parked for so long that its weights are to go
    instance_phase phase = instance_phase::both;
  };
  /// A node that is up, and whose shard has reported.
  struct node {
    node_id id;
    uint64_t capacity = 0;     ///< bytes for images
    uint32_t max_engines = 0;  ///< that are not idle; 0: any number
    bool leaving = false;
    std::vector<image_state> images;
    std::vector<image_state> going = {};  ///< are dropped, and take their bytes until they are gone
    uint32_t domain = no_scale_up_domain;
    std::map<weights_id, duration> unused = {};  ///< since the last request of a model

    duration unused_for(weights_id m) const {
      const auto found = unused.find(m);
      return found == unused.end() ? duration{} : found->second;
    }
    const image_state* image(weights_id m) const {
      const auto found = std::ranges::find(images, m, &image_state::model);
      return found == images.end() ? nullptr : &*found;
    }
    bool has(weights_id m) const {
      const auto* i = image(m);
      return i != nullptr && i->complete();
    }
    /// Of images that stay.
    uint64_t bytes() const { return sum(images); }
    uint64_t bytes_going() const { return sum(going); }

   private:
    static uint64_t sum(const std::vector<image_state>& all) {
      uint64_t out = 0;
      for (const auto& i : all) out += i.bytes;
      return out;
    }
  };

  std::vector<model> models;
  std::vector<place> places;
  std::vector<node> nodes;
  uint32_t copies = 1;  ///< complete ones of each model's images, at least
  scaling_policy policy = scaling_policy::blitz;
  duration keep{};  ///< `serverless`: how long images stay without requests

  const node* find(node_id id) const {
    const auto found = std::ranges::find(nodes, id, &node::id);
    return found == nodes.end() ? nullptr : &*found;
  }
  bool is_leaving(const place& p) const {
    const auto* n = find(p.node);
    return n != nullptr && n->leaving;
  }
  /// An image on the place's node has a problem that keeps engines from loading.
  bool has_problem(const place& p) const {
    const auto* n = find(p.node);
    const auto* i = n == nullptr ? nullptr : n->image(p.model);
    return i != nullptr && !i->problem.empty();
  }
  /// Its engine serves, or loads and will serve.
  bool counts(const place& p) const {
    if (p.unusable || is_leaving(p)) return false;
    return p.stage == instance_stage::serving || (p.stage == instance_stage::loading && !has_problem(p));
  }
  /// Complete ones, but for those on nodes that leave.
  uint32_t complete_copies(weights_id m) const {
    return static_cast<uint32_t>(
        std::ranges::count_if(nodes, [&](const node& n) { return n.has(m) && !n.leaving; }));
  }
  /// Without the image on this node, enough complete copies are left.
  bool can_spare(const node& n, weights_id m) const {
    return complete_copies(m) >= copies + (n.has(m) && !n.leaving ? 1 : 0);
  }
};

}  // namespace troupe
