// What an engine tells routers about the blocks of its prefix cache: changes, at most once an interval, and
// all blocks to a router that is new or missed a message. Messages have a bounded size.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/llm/routing.hpp"
#include "policies/llm/prefix_cache.hpp"

namespace troupe::llm {

class block_updates {
 public:
  static constexpr size_t max_blocks = 8192;  ///< of a message

  explicit block_updates(duration interval) : interval_(interval) {}

  /// All blocks are told again.
  void tell_all() { all_ = true; }
  void add(std::span<const block_change> changes) {
    for (const auto& c : changes) changes_[c.hash] = c.present;
  }

  time_point due_at() const { return all_ || !changes_.empty() ? sent_at_ + interval_ : never; }
  /// The messages that are due; `all_blocks` lists the hashes of all cached blocks.
  template <class List>
  std::vector<cached_blocks> take(llm_id model, engine_id engine, time_point now, List&& all_blocks) {
    std::vector<cached_blocks> out;
    if (now < due_at()) return out;
    sent_at_ = now;
    const auto message = [&]() -> auto& {
      auto& m = out.emplace_back();
      m.model = model, m.engine = engine, m.number = ++number_;
      return m;
    };
    if (std::exchange(all_, false)) {
      const std::vector<uint64_t> blocks = all_blocks();
      message().all = true;
      for (const auto b : blocks) {
        if (out.back().present.size() == max_blocks) message();
        out.back().present.push_back(b);
      }
    } else {
      std::vector<std::pair<uint64_t, bool>> sorted(changes_.begin(), changes_.end());
      std::ranges::sort(sorted);  // independent of the hash table
      message();
      for (const auto& [block, present] : sorted) {
        if (out.back().present.size() + out.back().gone.size() == max_blocks) message();
        (present ? out.back().present : out.back().gone).push_back(block);
      }
    }
    changes_.clear();
    return out;
  }

 private:
  const duration interval_;
  std::unordered_map<uint64_t, bool> changes_;
  bool all_ = true;
  uint64_t number_ = 0;
  time_point sent_at_ = long_ago;
};

}  // namespace troupe::llm
