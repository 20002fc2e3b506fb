#include "gpu/llm/cuda/adapter_image.hpp"

#include <algorithm>

namespace troupe::cuda {

using llm::adapter_weights;

adapter_image::adapter_image(const adapter_weights& adapter, const llm::model_config& model) {
  size_t size = 0;
  const auto room = [&size](size_t bytes) {
    const size_t at = size;
    size = round_up<size_t>(size + bytes, 256);
    return at;
  };
  const size_t count = size_t{model.layers} * llm::projection_count;
  const auto which = [](size_t i) { return static_cast<llm::projection>(i % llm::projection_count); };
  for (size_t i = 0; i < count; ++i) {
    const kernels::lora_weights& w = adapter.parts()[i];
    part& p = parts_.emplace_back();
    if (!w.adapts()) continue;
    p.ranks = lora_ranks(w.rank), p.scale = w.scale;
    p.a = room(packed_a_bytes(w.rank, model.in_of(which(i)))),
    p.b = room(packed_b_bytes(w.rank, model.out_of(which(i))));
    max_ranks_ = std::max(max_ranks_, p.ranks);
  }
  bytes_.resize(size);
  for (size_t i = 0; i < count; ++i) {
    const kernels::lora_weights& w = adapter.parts()[i];
    if (!w.adapts()) continue;
    const auto to = [this](size_t offset) { return reinterpret_cast<uint16_t*>(bytes_.data() + offset); };
    pack_lora_a(static_cast<const uint16_t*>(w.a), w.rank, model.in_of(which(i)), to(parts_[i].a));
    pack_lora_b(static_cast<const uint16_t*>(w.b), w.rank, model.out_of(which(i)), to(parts_[i].b));
  }
}

std::vector<lora_matrices> adapter_image::at(const std::byte* base) const {
  std::vector<lora_matrices> all;
  for (const part& p : parts_)
    all.push_back(p.ranks == 0 ? lora_matrices{} : lora_matrices{base + p.a, base + p.b, p.ranks, p.scale});
  return all;
}

}  // namespace troupe::cuda
