#include "gpu/llm/adapter_store.hpp"

#include <utility>

namespace troupe::llm {

adapter_store::adapter_store(model_config model, uint64_t budget)
    : model_(std::move(model)), budget_(budget) {}

adapter_store::found adapter_store::get(const std::string& folder) {
  const auto known = by_folder_.find(folder);
  try {
    // before the files are read: the next call notices changes that are made meanwhile
    const auto version = version_of_adapter(folder);
    if (known != by_folder_.end() && known->second->version == version) {
      entries_.splice(entries_.end(), entries_, known->second);
      ++hits_;
      return {known->second->what, false};
    }
    auto fresh = std::make_shared<const adapter>(read_adapter(folder, model_));
    ++reads_;
    if (known != by_folder_.end()) drop(known->second);
    const auto size = fresh->bytes();
    if (size > budget_) return {std::move(fresh), true};
    while (bytes_ > budget_ - size) drop(entries_.begin());
    by_folder_[folder] = entries_.insert(entries_.end(), {folder, version, fresh});
    bytes_ += size;
    return {std::move(fresh), true};
  } catch (...) {
    if (const auto stale = by_folder_.find(folder); stale != by_folder_.end()) drop(stale->second);
    throw;
  }
}

void adapter_store::drop(position at) {
  bytes_ -= at->what->bytes();
  by_folder_.erase(at->folder);
  entries_.erase(at);
}

}  // namespace troupe::llm
