#include "tools/sim/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "gpu/common/fnv.hpp"
#include "gpu/llm/emulated_kv_cache.hpp"

namespace troupe::sim {
namespace {

constexpr uint32_t image_layers = 5;
constexpr duration layer_read = 5ms;

uint64_t word_of(llm_id model, uint32_t layer, uint64_t place) {
  return llm::mixed(place, llm::mixed(layer, llm::mixed(model.value, fnv_start)));
}

void write_layer(llm_id model, uint32_t layer, std::span<std::byte> to) {
  for (size_t i = 0; i < to.size(); i += sizeof(uint64_t)) {
    const auto word = word_of(model, layer, i);
    std::memcpy(to.data() + i, &word, sizeof word);
  }
}

}  // namespace

std::vector<uint64_t> layer_bytes_of(llm_id model) {
  std::vector<uint64_t> out;
  for (uint32_t l = 0; l < image_layers; ++l)
    out.push_back(8 * (4000 + word_of(model, l, ~uint64_t{0}) % 8000));
  return out;
}

std::string problem_with_layer(llm_id model, uint32_t layer, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    const auto word = word_of(model, layer, i);
    if (std::memcmp(bytes.data() + i, &word, sizeof word) != 0)
      return fmt::format("layer {} of model {} has wrong bytes at {}", layer, model.value, i);
  }
  return {};
}

sim_images::sim_images(const cluster_spec& cluster, node_id self, later after)
    : cluster_(cluster), after_(std::move(after)) {
  std::vector<llm_id> here;
  for (const auto& e : cluster.engines)
    if (e.node == self && cluster.llms[e.model.value].scales && std::ranges::count(here, e.model) == 0)
      here.push_back(e.model);
  for (const auto m : here)
    capacity_ += (bytes(m) + large_blocks::alignment - 1) / large_blocks::alignment * large_blocks::alignment;
  if (const auto given = cluster.nodes[self.value].parameter_bytes; given > 0 && capacity_ > 0)
    capacity_ = given;
}

uint64_t sim_images::bytes(llm_id model) const {
  uint64_t out = 0;
  for (const auto b : layer_bytes_of(model))
    out += (b + llm::image_alignment - 1) / llm::image_alignment * llm::image_alignment;
  return out;
}

std::shared_ptr<llm::image_set> sim_images::find(llm_id model) { return images_[model].lock(); }

std::shared_ptr<llm::image_set> sim_images::create(llm_id model) {
  auto images = std::make_shared<llm::image_set>(
      layer_bytes_of(model), llm::image_format{},
      [this](uint64_t bytes) -> llm::image_memory {
        auto b = blocks_->take(bytes);
        if (!b) throw std::bad_alloc();
        return {b->bytes, b->offset, std::move(b->owner)};
      },
      cluster_.scaling.chunk_bytes);
  images_[model] = images;
  return images;
}

/// A layer at a time, until nobody else has the images.
void sim_images::read(llm_id model, std::shared_ptr<llm::image_set> images) {
  const auto takes = duration{static_cast<int64_t>(static_cast<double>(layer_read.count()) * slowness_)};
  after_(takes, [this, model, to = std::move(images)]() mutable {
    if (to->complete() || to.use_count() == 1) return;
    const auto layer = to->ready();
    write_layer(model, layer, to->memory(layer));
    to->finish_layer();
    read(model, std::move(to));
  });
}

}  // namespace troupe::sim
