// The LoRA adapters of a CUDA decoder: packed in device memory, with a slot each in the table that
// lora_kernel reads.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/llm/cuda/adapter_image.hpp"
#include "gpu/llm/cuda/decoder_step.hpp"
#include "gpu/llm/packed_adapter.hpp"
#include "messages/llm/step.hpp"

namespace troupe::cuda {

/// Not thread-safe, except `pack`.
template <class Machine, element E>
class resident_adapters {
 public:
  /// `slots`: the maximum number of adapters. `machine` must outlive this. Enqueues work on its stream.
  resident_adapters(Machine& machine, uint32_t layers, uint32_t slots)
      : m_(machine),
        slot_size_(size_t{layers} * adapter_slots::projections),
        slots_(slots),
        table_(std::max<size_t>(1, slots * slot_bytes())),
        host_table_(table_.size()) {
    m_.clear(table_.data(), table_.size());
    resident_.reserve(slots);
    view_.matrices = table_.template as<lora_matrices>();
  }

  /// Packs an adapter and copies it to the device, concurrently with the stream's work.
  std::shared_ptr<const llm::packed_adapter> pack(const llm::adapter& read, const llm::model_config& config) {
    return std::make_shared<const packed>(
        m_, adapter_image(llm::adapter_weights(read, config.layers, E), config));
  }
  /// `adapter`: of `pack`. Requires: a slot is free.
  void load(llm::adapter_id id, std::shared_ptr<const llm::packed_adapter> adapter) {
    const auto& there = static_cast<const packed&>(*adapter);
    const std::vector<lora_matrices> matrices = there.image.at(there.memory.data());
    assert(matrices.size() == slot_size_);
    const size_t slot = free_slot(), at = slot * slot_bytes();
    std::memcpy(host_table_.data() + at, matrices.data(), slot_bytes());
    m_.upload(table_.data() + at, host_table_.data() + at, slot_bytes());
    resident_.push_back({id, static_cast<uint32_t>(slot), std::move(adapter)});
    if (there.image.max_ranks() <= view_.max_ranks) return;
    view_.max_ranks = there.image.max_ranks();  // kernels need more shared memory
    view_.wide_tiles =
        lora_kernel<E, Machine::cluster>::shared_bytes(view_.max_ranks, wide_tile) <= m_.max_shared_bytes();
    m_.drop_graphs();
  }
  /// Requires: no step uses the adapter.
  void unload(llm::adapter_id id) {
    std::erase_if(resident_, [id](const auto& r) { return r.id == id; });
  }
  /// `no_adapter` if it is not resident.
  uint32_t slot_of(llm::adapter_id id) const {
    const auto found = std::ranges::find(resident_, id, &resident::id);
    return found == resident_.end() ? no_adapter : found->slot;
  }
  /// Arguments of the kernels.
  const adapter_slots& slots() const { return view_; }

 private:
  struct packed final : llm::packed_adapter {
    packed(Machine& machine, adapter_image made)
        : image(std::move(made)),
          memory(machine.upload_on_copy_stream(image.bytes().data(), image.bytes().size())) {
      image.drop_bytes();
    }
    uint64_t bytes() const override { return memory.size(); }
    adapter_image image;
    typename Machine::copy_stream_memory memory;
  };
  struct resident {
    llm::adapter_id id;
    uint32_t slot = 0;
    std::shared_ptr<const llm::packed_adapter> adapter;
  };

  size_t slot_bytes() const { return slot_size_ * sizeof(lora_matrices); }
  size_t free_slot() const {
    std::vector<bool> taken(slots_);
    for (const auto& r : resident_) taken[r.slot] = true;
    const auto free = std::ranges::find(taken, false);
    assert(free != taken.end());
    return static_cast<size_t>(free - taken.begin());
  }

  Machine& m_;
  const size_t slot_size_;  // matrices
  const uint32_t slots_;
  typename Machine::memory table_;            // lora_matrices [slots, layers, projections]
  typename Machine::host_memory host_table_;  // its copy
  std::vector<resident> resident_;
  adapter_slots view_;
};

}  // namespace troupe::cuda
