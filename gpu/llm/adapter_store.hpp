// LRU cache of adapters in host memory, limited in bytes.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "gpu/checkpoint/adapter.hpp"

namespace troupe::llm {

/// Not thread-safe. Evicted adapters live on while a caller holds them.
class adapter_store {
 public:
  /// `budget`: limit in bytes. An adapter that is being read does not count yet.
  adapter_store(model_config model, uint64_t budget);

  struct found {
    std::shared_ptr<const adapter> what;
    bool from_disk = false;  ///< false: it was in the store
  };
  /// The adapter of a folder. Reads it, unless it is in the store and its files are unchanged. An adapter
  /// larger than the budget is not kept. Throws model_error as `read_adapter` does; nothing is kept then.
  found get(const std::string& folder);

  uint64_t bytes() const { return bytes_; }  ///< of the adapters in the store; at most the budget
  size_t count() const { return entries_.size(); }
  uint64_t hits() const { return hits_; }
  uint64_t reads() const { return reads_; }  ///< successful reads

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
