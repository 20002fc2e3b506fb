#include "gpu/llm/image_set.hpp"

#include <utility>

#include "gpu/common/fast_hash.hpp"

namespace troupe::llm {

image_set::image_set(const model_config& config, const image_format& format)
    : format_(format), hashes_(config.layers + 2) {
  const layer_images images(config, format_);
  uint64_t end = 0;
  for (uint32_t l = 0; l < config.layers + 2; ++l) {
    places_.push_back({end, images.bytes(l)});
    end += (places_.back().bytes + image_alignment - 1) / image_alignment * image_alignment;
  }
  memory_ = aligned_bytes(end);
}

std::span<std::byte> image_set::memory(uint32_t layer) {
  return {memory_.data() + places_[layer].offset, places_[layer].bytes};
}

void image_set::finish_layer() {
  const auto layer = ready();
  hashes_[layer] = fast_hash(memory(layer));
  ready_.store(layer + 1, std::memory_order_release);
  call_listeners();
}

void image_set::fail(std::string problem) {
  {
    const std::scoped_lock lock(mutex_);
    problem_ = std::move(problem);
    failed_.store(true, std::memory_order_release);
  }
  call_listeners();
}

std::string image_set::problem() const {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

uint64_t image_set::listen(std::function<void()> changed) {
  const std::scoped_lock lock(mutex_);
  listeners_.emplace(++last_listener_, std::move(changed));
  return last_listener_;
}

void image_set::forget(uint64_t listener) {
  const std::scoped_lock lock(mutex_);
  listeners_.erase(listener);
}

/// Under the lock, so that `forget` waits for a call.
void image_set::call_listeners() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [_, changed] : listeners_) changed();
}

}  // namespace troupe::llm
