// The images of one model in a process (gpu/llm/layer_image.hpp). One writer fills them chunk by chunk: a
// loader that reads the checkpoint, or a chain that pulls from a peer. Any number of engines read the layers
// that are ready, and any number of peers pull the chunks that are.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/llm/image_memory.hpp"
#include "gpu/llm/layer_image.hpp"
#include "messages/scaling/image_chunk.hpp"

namespace troupe::llm {

inline constexpr uint64_t usual_chunk_bytes = 4 << 20;

/// Sizes of the images of all layers.
std::vector<uint64_t> image_bytes(const model_config& config, const image_format& format);

/// Thread-safe.
class image_set {
 public:
  /// Takes memory for all images, in one piece. Throws what `allocate` throws.
  image_set(std::span<const uint64_t> layer_bytes, const image_format& format,
            const image_allocator& allocate = heap_image_memory, uint64_t chunk_bytes = usual_chunk_bytes);

  const image_format& format() const { return format_; }
  uint32_t layers() const { return static_cast<uint32_t>(places_.size()); }
  /// n: layers [0, n) are ready.
  uint32_t ready() const { return ready_.load(std::memory_order_acquire); }
  uint64_t bytes() const { return memory_.bytes.size(); }
  /// Requires: layer < ready().
  std::span<const std::byte> image(uint32_t layer) const { return place(layer); }

  const std::vector<image_chunk>& chunks() const { return chunks_; }
  /// n: chunks [0, n) are ready. Layers are ready with their last chunk.
  uint32_t chunks_ready() const { return chunks_ready_.load(std::memory_order_acquire); }
  bool complete() const { return chunks_ready() == chunks_.size(); }
  /// XXH3 of a chunk. Requires: chunk < chunks_ready().
  uint64_t hash(uint32_t chunk) const { return hashes_[chunk]; }
  /// Offset of a chunk for pulls by peers; nothing: the memory is not in an arena.
  std::optional<uint64_t> offset() const { return memory_.offset; }
  uint64_t offset_of(uint32_t chunk) const {
    return places_[chunks_[chunk].layer].offset + chunks_[chunk].offset;
  }

  /// No further chunk will be ready.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Why writing has failed.
  std::string problem() const;
  /// Their writer is a loader (gpu/llm/image_reader.hpp), which goes on as long as somebody uses them.
  bool being_read() const;

  // By the one writer. Its threads may call make_present and chunk_memory at once, and finish chunks in
  // turns.

  /// Takes memory of the machine for a chunk, before it is written. False: there is none, and the images have
  /// failed.
  bool make_present(uint32_t chunk);
  /// Memory of a layer or a chunk that is not ready.
  std::span<std::byte> memory(uint32_t layer) { return place(layer); }
  std::span<std::byte> chunk_memory(uint32_t chunk) {
    return memory_.bytes.subspan(offset_of(chunk), chunks_[chunk].bytes);
  }
  /// The next chunk has been written, and has this hash. Calls the listeners.
  void finish_chunk(uint64_t hash);
  /// All chunks of the next layer have been written: hashes them, and calls the listeners.
  void finish_layer();
  /// No further chunk will be ready.
  void fail(std::string problem);

  /// `changed` is called after each change, from a thread of the writer, until `forget` returns.
  uint64_t listen(std::function<void()> changed);
  void forget(uint64_t listener);

 private:
  friend class kept_images;
  friend class image_reader;
  struct layer_place {
    uint64_t offset = 0, bytes = 0;
  };
  std::span<std::byte> place(uint32_t layer) const {
    return memory_.bytes.subspan(places_[layer].offset, places_[layer].bytes);
  }
  void add_ready(uint64_t hash);
  void call_listeners();

  const image_format format_;
  std::vector<layer_place> places_;  ///< by layer
  const std::vector<image_chunk> chunks_;
  image_memory memory_;
  std::vector<uint64_t> hashes_;  ///< by chunk
  std::atomic<uint32_t> ready_{0}, chunks_ready_{0};
  std::atomic<bool> failed_{false};
  std::atomic<int64_t> keepers_{0};  ///< kept_images of these
  mutable std::mutex mutex_;         ///< guards the rest
  std::string problem_;
  bool being_read_ = false;
  std::map<uint64_t, std::function<void()>> listeners_;
  uint64_t last_listener_ = 0;
};

}  // namespace troupe::llm
