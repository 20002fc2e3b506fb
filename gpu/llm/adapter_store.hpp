// Adapters in host memory: the least recently used go when there are too many bytes of them.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "gpu/checkpoint/adapter.hpp"

namespace troupe::llm {

/// One caller at a time. What it gave out lives on when it has gone from here.
class adapter_store {
 public:
  /// While an adapter is read it comes on top of `budget` bytes.
  adapter_store(model_config model, uint64_t budget);

  struct found {
    std::shared_ptr<const adapter> what;
    bool from_disk = false;  ///< it had to be read
  };
  /// The adapter of a folder: read, unless it is still here and its files are as they were. One of more bytes
  /// than the budget is not kept. Throws model_error as `read_adapter` does; nothing is kept then.
  found get(const std::string& folder);

  uint64_t bytes() const { return bytes_; }  ///< of those that are here; at most the budget
  size_t count() const { return entries_.size(); }
  uint64_t hits() const { return hits_; }
  uint64_t reads() const { return reads_; }  ///< that gave an adapter

 private:
  struct entry {
    std::string folder;
    adapter_version version;
    std::shared_ptr<const adapter> what;
  };
  using position = std::list<entry>::iterator;

  void drop(position at);

  const model_config model_;
  const uint64_t budget_;
  std::list<entry> entries_;  // the least recently used first
  std::unordered_map<std::string, position> by_folder_;
  uint64_t bytes_ = 0, hits_ = 0, reads_ = 0;
};

}  // namespace troupe::llm
