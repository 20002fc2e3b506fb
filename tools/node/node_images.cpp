#include "tools/node/node_images.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "transport/common/lazy_memory.hpp"
#include "transport/common/low_priority.hpp"
#include "transport/memory/large_blocks.hpp"

namespace troupe {
namespace {

uint64_t rounded_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

/// Emulated engines have no weights, and tensor-parallel ones load their shards themselves.
bool has_images(const llm_spec& m) {
  return m.scales &&
         (m.device == device_kind::cpu || (m.device == device_kind::cuda && m.tensor_parallel == 1));
}

llm::image_layout layout_of(const llm_spec& m) {
  return m.device == device_kind::cuda ? llm::image_layout::row_major : llm::image_layout::packed;
}

/// Size of a model's images, in one piece.
uint64_t image_bytes_of(const llm_spec& m) {
  llm::checkpoint files(m.path);
  const llm::image_format format{element_of(m.type), files.view(0).find("embed_tokens.weight")->type,
                                 layout_of(m)};
  uint64_t out = 0;
  for (const auto bytes : llm::image_bytes(files.config(), format))
    out += rounded_up(bytes, llm::image_alignment);
  return out;
}

}  // namespace

element element_of(llm_type t) {
  switch (t) {
    case llm_type::bf16: return element::bf16;
    case llm_type::f16: return element::f16;
    default: return element::f32;
  }
}

node_images::node_images(const cluster_spec& cluster, node_id self) : cluster_(cluster) {
  const auto has_place = [&](llm_id m) {
    return std::ranges::any_of(cluster.engines,
                               [&](const engine_spec& e) { return e.node == self && e.model == m; });
  };
  for (uint32_t i = 0; i < cluster.llms.size(); ++i) {
    const auto& m = cluster.llms[i];
    if (!has_images(m)) continue;
    if (!has_place(llm_id{i}) && !cluster.nodes[self.value].schedules()) continue;
    auto& own = models_[llm_id{i}];
    own.bytes = image_bytes_of(m);
    own.library = std::make_shared<llm::image_library>(llm::heap_image_memory, lower_priority, layout_of(m));
    if (has_place(llm_id{i})) capacity_ += rounded_up(own.bytes, large_blocks::alignment);
  }
  if (const auto given = cluster.nodes[self.value].parameter_bytes;
      given > 0 && (capacity_ > 0 || keeps_model_files(cluster, self)))
    capacity_ = given;
}

void node_images::use_arena(registered_memory arena) {
  const auto blocks = large_blocks::in(arena);
  const auto allocate = [blocks](uint64_t bytes) -> llm::image_memory {
    auto b = blocks->take(bytes);
    if (!b) throw std::bad_alloc();
    return {b->bytes, b->offset, std::move(b->owner), make_present};
  };
  for (auto& [_, m] : models_) m.library->use(allocate);
  files_.use(allocate, cluster_.scaling.chunk_bytes);
}

std::shared_ptr<llm::image_set> node_images::find(weights_id model) {
  if (are_model_files(model)) return files_.find(model);
  const std::scoped_lock lock(mutex_);
  auto images = models_.at(llm_of(model)).images.lock();
  return images && !images->failed() ? images : nullptr;
}

std::shared_ptr<llm::image_set> node_images::create(weights_id model, uint64_t bytes) {
  if (are_model_files(model)) return files_.create(model, bytes);
  const auto& spec = cluster_.llms[model.value];
  auto& own = models_.at(llm_of(model));
  auto images = own.library->create(spec.path, element_of(spec.type), cluster_.scaling.chunk_bytes);
  const std::scoped_lock lock(mutex_);
  own.images = images;
  return images;
}

void node_images::read(weights_id model, std::shared_ptr<llm::image_set> images) {
  if (are_model_files(model)) return files_.read(model, std::move(images));
  const auto& spec = cluster_.llms[model.value];
  models_.at(llm_of(model)).library->read(spec.path, std::move(images), static_cast<int>(spec.threads));
}

uint64_t node_images::bytes(weights_id model) const {
  if (are_model_files(model)) return files_.bytes(model);
  const auto found = models_.find(llm_of(model));
  return found == models_.end() ? 0 : found->second.bytes;
}

}  // namespace troupe
