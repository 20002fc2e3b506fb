// The files of a node's tensor models in its memory, from which peers pull them.
#pragma once
#include <atomic>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "gpu/llm/image_reader.hpp"
#include "gpu/llm/image_store.hpp"
#include "tools/node/memory_folder.hpp"

namespace troupe {

/// Thread-safe. Functions as those of `llm::image_store`.
class file_images {
 public:
  file_images();
  ~file_images();
  file_images(const file_images&) = delete;
  file_images& operator=(const file_images&) = delete;

  /// Memory of images. Called before the first one. Folders of received files that ended processes have left
  /// are removed.
  void use(llm::image_allocator allocate, uint64_t chunk_bytes);
  void locate(weights_id files, const std::filesystem::path& source);
  uint64_t bytes(weights_id files) const;
  std::shared_ptr<llm::image_set> find(weights_id files);
  std::shared_ptr<llm::image_set> create(weights_id files, uint64_t bytes);
  void read(weights_id files, std::shared_ptr<llm::image_set> images);

  /// The files as peers gave them, for loaders; null: there are none, or they are those of this node's disk.
  /// Throws model_error.
  std::unique_ptr<memory_folder> received(weights_id files);

 private:
  struct known_files {
    std::filesystem::path source;
    uint64_t bytes = 0;  ///< on disk; 0: this node has not all of them
    std::weak_ptr<llm::image_set> images;
    std::filesystem::file_time_type created;
    bool pulled = false;  ///< a part of them came from peers, or will
  };
  struct reading {
    std::atomic<bool> ended{false};
    std::jthread thread;
  };
  void fill(const std::stop_token& stop, const std::filesystem::path& source, llm::image_reader images);

  const uint64_t unique_;     ///< names the folders of this process
  mutable std::mutex mutex_;  ///< guards the rest
  llm::image_allocator allocate_;
  uint64_t chunk_bytes_ = llm::usual_chunk_bytes;
  std::map<weights_id, known_files> known_;
  std::list<reading> reading_;
};

}  // namespace troupe
