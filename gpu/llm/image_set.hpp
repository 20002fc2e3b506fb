// The images of one model in a process (gpu/llm/layer_image.hpp): a loader writes them layer by layer, and
// any number of engines read those that are ready.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gpu/common/aligned_bytes.hpp"
#include "gpu/llm/layer_image.hpp"

namespace troupe::llm {

/// Thread-safe.
class image_set {
 public:
  /// Takes memory for all images, in one piece. Throws std::bad_alloc if there is not enough.
  image_set(const model_config& config, const image_format& format);

  const image_format& format() const { return format_; }
  uint32_t layers() const { return static_cast<uint32_t>(places_.size()); }
  /// n: layers [0, n) are ready.
  uint32_t ready() const { return ready_.load(std::memory_order_acquire); }
  uint64_t bytes() const { return memory_.size(); }
  /// Requires: layer < ready().
  std::span<const std::byte> image(uint32_t layer) const {
    return const_cast<image_set*>(this)->memory(layer);
  }
  /// XXH3 of an image. Requires: layer < ready().
  uint64_t hash(uint32_t layer) const { return hashes_[layer]; }
  /// No further layer will be ready.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Why loading has failed.
  std::string problem() const;

  // By the loader.

  /// Memory of a layer that is not ready.
  std::span<std::byte> memory(uint32_t layer);
  /// The next layer has been written: hashes it, and calls the listeners.
  void finish_layer();
  /// No further layer will be ready.
  void fail(std::string problem);

  /// `changed` is called after each change, from the loader's thread, until `forget` returns.
  uint64_t listen(std::function<void()> changed);
  void forget(uint64_t listener);

 private:
  struct place {
    uint64_t offset = 0, bytes = 0;
  };
  void call_listeners();

  const image_format format_;
  std::vector<place> places_;  ///< by layer
  aligned_bytes memory_;
  std::vector<uint64_t> hashes_;
  std::atomic<uint32_t> ready_{0};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  ///< guards the rest
  std::string problem_;
  std::map<uint64_t, std::function<void()>> listeners_;
  uint64_t last_listener_ = 0;
};

}  // namespace troupe::llm
