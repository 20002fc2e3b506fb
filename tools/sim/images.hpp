// The images of a simulated node's language models that scale. Each layer has bytes that name it, so that
// wrong ones show. Reading a checkpoint takes virtual time.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/llm/image_store.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/memory/large_blocks.hpp"

namespace troupe::sim {

/// Sizes of the layers of a model's images.
std::vector<uint64_t> layer_bytes_of(llm_id model);
/// Why these are not the bytes of the layer; empty: they are.
std::string problem_with_layer(llm_id model, uint32_t layer, std::span<const std::byte> bytes);

class sim_images final : public llm::image_store {
 public:
  /// `after`: runs a job after a time, unless the process has ended by then.
  using later = std::function<void(duration, std::function<void()>)>;
  sim_images(const cluster_spec& cluster, node_id self, later after);

  void use_arena(registered_memory arena) { blocks_ = large_blocks::in(arena); }
  /// A factor of the time that reading takes from now on.
  void set_slowness(double factor) { slowness_ = factor; }

  std::shared_ptr<llm::image_set> find(llm_id model) override;
  std::shared_ptr<llm::image_set> create(llm_id model) override;
  void read(llm_id model, std::shared_ptr<llm::image_set> images) override;
  uint64_t bytes(llm_id model) const override;
  uint64_t capacity() const override { return capacity_; }
  bool is_filling() {
    return std::ranges::any_of(images_, [](const auto& i) {
      const auto images = i.second.lock();
      return images && !images->complete();
    });
  }
  bool has_all(llm_id model) {
    const auto images = find(model);
    return images && images->complete();
  }

 private:
  const cluster_spec& cluster_;
  const later after_;
  uint64_t capacity_ = 0;
  double slowness_ = 1;
  std::shared_ptr<large_blocks> blocks_;
  std::map<llm_id, std::weak_ptr<llm::image_set>> images_;
};

}  // namespace troupe::sim
