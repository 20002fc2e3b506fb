// The images of a real node: of language models that scale, and of tensor models if it keeps their files, in
// an arena that peers pull from.
#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "gpu/llm/image_library.hpp"
#include "gpu/llm/image_store.hpp"
#include "messages/cluster/cluster.hpp"
#include "tools/node/file_images.hpp"
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

  file_images& files() { return files_; }

  std::shared_ptr<llm::image_set> find(weights_id model) override;
  std::shared_ptr<llm::image_set> create(weights_id model, uint64_t bytes) override;
  void read(weights_id model, std::shared_ptr<llm::image_set> images) override;
  uint64_t bytes(weights_id model) const override;
  void locate(weights_id files, const std::string& path) override { files_.locate(files, path); }
  uint64_t capacity() const override { return capacity_; }

 private:
  struct scaled {
    std::shared_ptr<llm::image_library> library;
    uint64_t bytes = 0;
    std::weak_ptr<llm::image_set> images;
  };
  const cluster_spec& cluster_;
  std::map<llm_id, scaled> models_;
  file_images files_;
  uint64_t capacity_ = 0;
  std::mutex mutex_;  ///< guards the `images` of models
};

}  // namespace troupe
