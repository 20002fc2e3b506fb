// The images of a real node's language models that scale: read from checkpoints, in an arena that peers pull
// from.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "gpu/llm/image_library.hpp"
#include "gpu/llm/image_store.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

/// The type of a model's weights on its devices.
element element_of(llm_type t);

class node_images final : public llm::image_store {
 public:
  /// `cluster` outlives it. Throws model_error if the checkpoint of a model that scales is not readable.
  node_images(const cluster_spec& cluster, node_id self);

  /// Later images lie in this arena. Before it is known there are none.
  void use_arena(registered_memory arena);
  /// Whether engines of the model use these images, and load none by themselves.
  bool keeps(llm_id model) const { return models_.contains(model); }

  std::shared_ptr<llm::image_set> find(llm_id model) override;
  std::shared_ptr<llm::image_set> create(llm_id model) override;
  void read(llm_id model, std::shared_ptr<llm::image_set> images) override;
  uint64_t bytes(llm_id model) const override;
  uint64_t capacity() const override { return capacity_; }

 private:
  struct scaled {
    std::shared_ptr<llm::image_library> library;
    uint64_t bytes = 0;
    std::weak_ptr<llm::image_set> images;
  };
  const cluster_spec& cluster_;
  std::map<llm_id, scaled> models_;
  uint64_t capacity_ = 0;
  std::mutex mutex_;  ///< guards the `images` of models
};

}  // namespace troupe
