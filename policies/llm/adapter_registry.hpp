// Adapters that requests to an engine may name, each under an id of its own.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "messages/llm/generation.hpp"
#include "messages/llm/step.hpp"

namespace troupe {

class adapter_registry {
 public:
  struct entry {
    adapter_entry what;
    llm::adapter_id id;
    bool checking = false;  ///< its files are read for the first time: no request may name it yet
    bool leaving = false;   ///< unregistered, but requests with it have not ended
    uint32_t open = 0;      ///< requests
    uint64_t requests = 0;  ///< since it was registered
    uint64_t loads = 0;     ///< onto the device
    duration last_load{};
    uint64_t bytes = 0;        ///< on the device, when it was there last
    std::string problem = {};  ///< with its files, at the last load
  };

  /// Registers an adapter under a new id. Ids are never used again. Requires: the name is free.
  entry& add(adapter_entry what) {
    const llm::adapter_id id{++last_};
    names_.emplace(what.name, id);
    return entries_.emplace(id, entry{.what = std::move(what), .id = id}).first->second;
  }
  /// The adapter of this name, also while it is checked; null: the name is free.
  entry* find(std::string_view name) {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &entries_.at(found->second);
  }
  /// Null: unknown or forgotten.
  entry* find(llm::adapter_id id) {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second;
  }
  const entry* find(llm::adapter_id id) const { return const_cast<adapter_registry*>(this)->find(id); }
  /// Frees the name; the entry stays until `forget`.
  void unregister(entry& e) {
    names_.erase(e.what.name);
    e.leaving = true;
  }
  void forget(llm::adapter_id id) {
    if (const auto* e = find(id); e != nullptr && !e->leaving) names_.erase(e->what.name);
    entries_.erase(id);
  }

  /// Number of adapters that requests may name.
  size_t size() const {
    return static_cast<size_t>(
        std::ranges::count_if(names_, [this](const auto& n) { return !entries_.at(n.second).checking; }));
  }
  /// Adapters that requests may name, by name, behind `after`, `limit` at most.
  std::vector<const entry*> list(std::string_view after, size_t limit) const {
    std::vector<const entry*> out;
    for (auto at = names_.upper_bound(after); at != names_.end() && out.size() < limit; ++at)
      if (const auto& e = entries_.at(at->second); !e.checking) out.push_back(&e);
    return out;
  }

 private:
  std::map<std::string, llm::adapter_id, std::less<>> names_;
  std::unordered_map<llm::adapter_id, entry> entries_;
  uint32_t last_ = llm::base_model.value;
};

}  // namespace troupe
