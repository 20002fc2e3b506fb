// The models of a process whose images engines share: each is loaded once, for as long as an engine uses it.
#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/image_reader.hpp"
#include "gpu/llm/image_set.hpp"

namespace troupe::llm {

/// Thread-safe. Loads each model on a thread of its own: reads, packs and hashes it layer by layer.
class image_library {
 public:
  /// `begin_thread`: called first by each thread that loads, for example to set its priority.
  explicit image_library(image_allocator allocate = heap_image_memory,
                         std::function<void()> begin_thread = {}, image_layout layout = image_layout::packed)
      : begin_thread_(std::move(begin_thread)), layout_(layout), allocate_(std::move(allocate)) {}
  /// Ends loading after the layer that is being written.
  ~image_library();
  image_library(const image_library&) = delete;
  image_library& operator=(const image_library&) = delete;

  /// The images of a checkpoint with weights of this type: those that are in use already, or new ones, whose
  /// loading begins with `threads` threads for each layer. A folder whose files have changed since is another
  /// checkpoint. Throws model_error if the folder cannot be read, std::bad_alloc without enough memory.
  std::shared_ptr<image_set> open(const std::filesystem::path& folder, element weights, int threads);

  /// The two halves of `open` for a checkpoint without images in use.
  /// New images for another writer, in chunks of this size.
  std::shared_ptr<image_set> create(const std::filesystem::path& folder, element weights,
                                    uint64_t chunk_bytes = usual_chunk_bytes);
  /// Reads the missing part of images into them. Requires: they have no other writer any more.
  void read(const std::filesystem::path& folder, std::shared_ptr<image_set> images, int threads);

  /// Memory of later images.
  void use(image_allocator allocate);

 private:
  struct entry {
    std::string key;
    std::weak_ptr<image_set> images;
  };
  struct loading {
    std::atomic<bool> ended{false};
    std::jthread thread;
  };
  std::shared_ptr<image_set> find_by(const std::string& key);
  std::shared_ptr<image_set> add(std::string key, const checkpoint& files, element weights,
                                 uint64_t chunk_bytes);
  void begin_loading(checkpoint files, image_reader images, int threads);
  void load(std::stop_token stop, checkpoint files, image_reader images, int threads);
  bool abandoned(image_reader& images);

  const std::function<void()> begin_thread_;
  const image_layout layout_;
  std::mutex mutex_;
  image_allocator allocate_;
  std::vector<entry> entries_;
  std::list<loading> loading_;
};

}  // namespace troupe::llm
