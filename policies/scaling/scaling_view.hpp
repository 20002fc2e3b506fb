// The language models of a cluster that scale, as the leader sees them: from inventories of shards and
// statuses of engines. All vectors are in the order of ids, so that equal views give equal decisions.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/llm/instance_stage.hpp"
#include "messages/scaling/image_transfer.hpp"

namespace troupe {

struct scaling_view {
  struct model {
    llm_id id;
    std::string name;
    uint32_t wanted = 0;  ///< instances
    uint64_t bytes = 0;   ///< of its images; 0: engines load by themselves, and no images are kept
  };
  /// A place whose node is up, and whose engine has reported.
  struct place {
    engine_id engine;
    llm_id model;
    node_id node;
    instance_stage stage = instance_stage::idle;
    bool unusable = false;      ///< its model cannot be loaded there
    uint32_t sequences = 0;     ///< running and waiting
    bool park_is_over = false;  ///< parked for so long that its weights are to go

    bool active() const { return stage == instance_stage::loading || stage == instance_stage::serving; }
  };
  /// A node that is up, and whose shard has reported.
  struct node {
    node_id id;
    uint64_t capacity = 0;     ///< bytes for images
    uint32_t max_engines = 0;  ///< that are not idle; 0: any number
    bool leaving = false;
    std::vector<image_state> images;

    const image_state* image(llm_id m) const {
      const auto found = std::ranges::find(images, m, &image_state::model);
      return found == images.end() ? nullptr : &*found;
    }
    bool has(llm_id m) const {
      const auto* i = image(m);
      return i != nullptr && i->complete();
    }
    uint64_t bytes() const {
      uint64_t out = 0;
      for (const auto& i : images) out += i.bytes;
      return out;
    }
  };

  std::vector<model> models;
  std::vector<place> places;
  std::vector<node> nodes;
  uint32_t copies = 1;  ///< complete ones of each model's images, at least

  const node* find(node_id id) const {
    const auto found = std::ranges::find(nodes, id, &node::id);
    return found == nodes.end() ? nullptr : &*found;
  }
};

}  // namespace troupe
