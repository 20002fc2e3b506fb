// The images of a simulated node's language models that scale, and the files of its tensor models, which are
// on every disk. Each layer has bytes that name it, so that wrong ones show. Reading takes virtual time.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu/llm/image_reader.hpp"
#include "gpu/llm/image_store.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/memory/large_blocks.hpp"

namespace troupe::sim {

/// The place that images are read from when no other node gives them.
enum class image_origin : uint8_t {
  unspecified,  ///< 5 ms a layer
  host,         ///< the node's host memory, at its host_to_device_gbit_per_s
  ssd           ///< the node's disk, at its ssd_gbit_per_s, and over the same bus
};

/// Images of a model as large as declared. Memory holds one byte in `sim_network::options::image_scale`.
struct image_size {
  std::vector<uint64_t> layer_bytes;  ///< empty: two to six chunks of 16 KiB at most, by chance
  image_origin origin = image_origin::unspecified;
};
struct image_sizes {
  std::vector<image_size> models;  ///< by language model; none: small ones
  uint64_t scale = 1;              ///< bytes that a byte in memory stands for; chunks are scaled, too
};

/// Bytes that nodes have read, and not pulled from others.
struct bytes_read {
  uint64_t unspecified = 0, host = 0, ssd = 0;
};

/// Why these are not the bytes of the layer; empty: they are.
std::string problem_with_layer(weights_id model, uint32_t layer, std::span<const std::byte> bytes);

class sim_images final : public llm::image_store {
 public:
  /// `after`: runs a job after a time, unless the process has ended by then.
  using later = std::function<void(duration, std::function<void()>)>;
  /// `complete`: a model's images are. The references outlive this.
  sim_images(const cluster_spec& cluster, node_id self, const image_sizes& sizes, later after,
             std::function<void(weights_id)> complete);

  void use_arena(registered_memory arena) { blocks_ = large_blocks::in(arena); }
  /// A factor of the time that reading takes from now on.
  void set_slowness(double factor) { slowness_ = factor; }

  std::shared_ptr<llm::image_set> find(weights_id model) override;
  std::shared_ptr<llm::image_set> create(weights_id model, uint64_t bytes) override;
  void read(weights_id model, std::shared_ptr<llm::image_set> images) override;
  uint64_t bytes(weights_id model) const override;
  uint64_t capacity() const override { return capacity_; }
  void locate(weights_id, const std::string&) override {}  // `bytes` knows all
  const bytes_read& read() const { return read_; }
  /// Models whose images arrive.
  std::vector<weights_id> filling() const {
    std::vector<weights_id> out;
    for (const auto& [model, kept] : images_)
      if (const auto images = kept.lock(); images && !images->complete()) out.push_back(model);
    return out;
  }
  bool has_all(weights_id model) {
    const auto images = find(model);
    return images && images->complete();
  }

 private:
  /// In memory.
  std::vector<uint64_t> layer_bytes(weights_id model) const;
  image_origin origin(weights_id model) const;
  duration read_time(image_origin from, uint64_t layer_bytes) const;
  void read_layers(weights_id model, const std::shared_ptr<llm::image_reader>& to);

  const cluster_spec& cluster_;
  const node_id self_;
  const image_sizes& sizes_;
  const later after_;
  const std::function<void(weights_id)> complete_;
  bytes_read read_;
  uint64_t capacity_ = 0;
  double slowness_ = 1;
  std::shared_ptr<large_blocks> blocks_;
  std::map<weights_id, std::weak_ptr<llm::image_set>> images_;
};

}  // namespace troupe::sim
