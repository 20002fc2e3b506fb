#include "gpu/llm/image_set.hpp"

#include <cassert>
#include <utility>

#include "gpu/common/fast_hash.hpp"

namespace troupe::llm {

std::vector<uint64_t> image_bytes(const model_config& config, const image_format& format) {
  const layer_images images(config, format);
  std::vector<uint64_t> out;
  for (uint32_t l = 0; l < config.layers + 2; ++l) out.push_back(images.bytes(l));
  return out;
}

image_set::image_set(std::span<const uint64_t> layer_bytes, const image_format& format,
                     const image_allocator& allocate, uint64_t chunk_bytes)
    : format_(format), chunks_(chunks_of(layer_bytes, chunk_bytes)), hashes_(chunks_.size()) {
  uint64_t end = 0;
  for (const auto bytes : layer_bytes) {
    assert(bytes > 0);  // a layer is ready with its last chunk
    places_.push_back({end, bytes});
    end += (bytes + image_alignment - 1) / image_alignment * image_alignment;
  }
  memory_ = allocate(end);
}

bool image_set::make_present(uint32_t chunk) {
  if (!memory_.make_present || memory_.make_present(chunk_memory(chunk))) return true;
  fail(
      "the machine has no memory left for the images of the model: enlarge /dev/shm, or lower max_engines or "
      "parameter_mb of the [[node]]");
  return false;
}

void image_set::add_ready(uint64_t hash) {
  const auto next = chunks_ready();
  hashes_[next] = hash;
  if (next + 1 == chunks_.size() || chunks_[next + 1].layer != chunks_[next].layer)
    ready_.store(chunks_[next].layer + 1, std::memory_order_release);
  chunks_ready_.store(next + 1, std::memory_order_release);
}

void image_set::finish_chunk(uint64_t hash) {
  add_ready(hash);
  call_listeners();
}

void image_set::finish_layer() {
  const auto layer = ready();
  while (!complete() && chunks_[chunks_ready()].layer == layer)
    add_ready(fast_hash(chunk_memory(chunks_ready())));
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

bool image_set::being_read() const {
  const std::scoped_lock lock(mutex_);
  return being_read_;
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
