#include "tools/sim/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "gpu/common/fnv.hpp"
#include "gpu/llm/emulated_kv_cache.hpp"

namespace troupe::sim {
namespace {

constexpr uint32_t image_layers = 5;
constexpr duration layer_read = 5ms;

uint64_t word_of(weights_id model, uint32_t layer, uint64_t place) {
  return llm::mixed(place, llm::mixed(layer, llm::mixed(model.value, fnv_start)));
}

void write_layer(weights_id model, uint32_t layer, std::span<std::byte> to) {
  for (size_t i = 0; i < to.size(); i += sizeof(uint64_t)) {
    const auto word = word_of(model, layer, i);
    std::memcpy(to.data() + i, &word, sizeof word);
  }
}

}  // namespace

std::string problem_with_layer(weights_id model, uint32_t layer, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    const auto word = word_of(model, layer, i);
    if (std::memcmp(bytes.data() + i, &word, sizeof word) != 0)
      return fmt::format("layer {} of model {} has wrong bytes at {}", layer, model.value, i);
  }
  return {};
}

sim_images::sim_images(const cluster_spec& cluster, node_id self, const image_sizes& sizes, later after,
                       std::function<void(weights_id)> complete)
    : cluster_(cluster),
      self_(self),
      sizes_(sizes),
      after_(std::move(after)),
      complete_(std::move(complete)) {
  std::vector<weights_id> here;
  for (const auto& e : cluster.engines)
    if (const auto m = weights_of(e.model);
        e.node == self && cluster.llms[e.model.value].scales && std::ranges::count(here, m) == 0)
      here.push_back(m);
  for (const auto m : here)
    capacity_ += (bytes(m) + large_blocks::alignment - 1) / large_blocks::alignment * large_blocks::alignment;
  if (const auto given = cluster.nodes[self.value].parameter_bytes;
      given > 0 && (capacity_ > 0 || keeps_model_files(cluster, self)))
    capacity_ = given;
}

std::vector<uint64_t> sim_images::layer_bytes(weights_id model) const {
  std::vector<uint64_t> out;
  if (model.value < sizes_.models.size() && !sizes_.models[model.value].layer_bytes.empty()) {
    for (const auto b : sizes_.models[model.value].layer_bytes)
      out.push_back((b + 8 * sizes_.scale - 1) / (8 * sizes_.scale) * 8);  // whole words
    return out;
  }
  constexpr uint64_t largest_chunk = 16 << 10;
  const auto unit = std::min(cluster_.scaling.chunk_bytes, largest_chunk);
  for (uint32_t l = 0; l < image_layers; ++l)
    out.push_back(8 * ((4000 + word_of(model, l, ~uint64_t{0}) % 8000) * unit / largest_chunk));
  return out;
}

image_origin sim_images::origin(weights_id model) const {
  return model.value < sizes_.models.size() ? sizes_.models[model.value].origin : image_origin::unspecified;
}

duration sim_images::read_time(image_origin from, uint64_t layer_bytes) const {
  if (from == image_origin::unspecified) return layer_read;
  double gbit_per_s = std::numeric_limits<double>::infinity();
  for (const auto& l : cluster_.links) {
    if (std::ranges::count(l.nodes, node_name(cluster_, self_)) == 0) continue;
    if (l.host_to_device_gbit_per_s > 0) gbit_per_s = l.host_to_device_gbit_per_s;
    if (from == image_origin::ssd && l.ssd_gbit_per_s > 0)
      gbit_per_s = std::min(gbit_per_s, l.ssd_gbit_per_s);
  }
  return duration{static_cast<int64_t>(static_cast<double>(layer_bytes * sizes_.scale) * 8 / gbit_per_s)};
}

uint64_t sim_images::bytes(weights_id model) const {
  uint64_t out = 0;
  for (const auto b : layer_bytes(model))
    out += (b + llm::image_alignment - 1) / llm::image_alignment * llm::image_alignment;
  return out;
}

std::shared_ptr<llm::image_set> sim_images::find(weights_id model) { return images_[model].lock(); }

std::shared_ptr<llm::image_set> sim_images::create(weights_id model, uint64_t) {
  auto images = std::make_shared<llm::image_set>(
      layer_bytes(model), llm::image_format{},
      [this](uint64_t bytes) -> llm::image_memory {
        auto b = blocks_->take(bytes);
        if (!b) throw std::bad_alloc();
        return {b->bytes, b->offset, std::move(b->owner)};
      },
      std::max<uint64_t>(1, cluster_.scaling.chunk_bytes / sizes_.scale));
  images->listen([this, model, set = images.get(), told = false]() mutable {
    if (told || !set->complete()) return;
    told = true;
    complete_(model);
  });
  images_[model] = images;
  return images;
}

void sim_images::read(weights_id model, std::shared_ptr<llm::image_set> images) {
  read_layers(model, std::make_shared<llm::image_reader>(std::move(images)));
}

/// A layer at a time, until nobody uses the images.
void sim_images::read_layers(weights_id model, const std::shared_ptr<llm::image_reader>& to) {
  if ((*to)->complete()) return;
  const auto layer_bytes = (*to)->memory((*to)->ready()).size();
  const auto from = origin(model);
  const auto takes =
      duration{static_cast<int64_t>(static_cast<double>(read_time(from, layer_bytes).count()) * slowness_)};
  after_(takes, [this, model, from, layer_bytes, to] {
    if (to->abandoned()) return;
    auto& images = **to;
    write_layer(model, images.ready(), images.memory(images.ready()));
    (from == image_origin::host  ? read_.host
     : from == image_origin::ssd ? read_.ssd
                                 : read_.unspecified) += layer_bytes * sizes_.scale;
    images.finish_layer();
    read_layers(model, to);
  });
}

}  // namespace troupe::sim
