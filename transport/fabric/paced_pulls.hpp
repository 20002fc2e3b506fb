// The pulls of a paced fabric that wait for the end of their copying or of their time on the interfaces.
// Thread-safe; calls nothing back.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

class paced_pulls {
 public:
  /// The ends of pulls, each to be called once, without any lock.
  using ended = std::vector<std::pair<pull_done, pull_status>>;

  /// `first`: the number of the first pull. A later process of this node begins with another one, so that it
  /// does not take answers to the former one for its own.
  explicit paced_pulls(uint64_t first) : next_(first) {}

  /// Adds a pull whose time on its own interface is over at `end`; returns its number. Until `begun` it does
  /// not end.
  uint64_t add(node_id from, incarnation_id incarnation, time_point end, pull_done done) {
    const std::lock_guard lock(mutex_);
    all_.emplace(next_, waiting{from, incarnation, std::move(done), end});
    return next_++;
  }
  /// The carrier's call for this pull has returned. True if its copying has ended already.
  bool begun(uint64_t pull) {
    const std::lock_guard lock(mutex_);
    const auto it = all_.find(pull);
    if (it == all_.end()) return false;
    it->second.begun = true;
    set_due();
    return it->second.copied.has_value();
  }
  /// Its time on the owner's interface is over at `end`.
  void answered(uint64_t pull, time_point end) {
    const std::lock_guard lock(mutex_);
    const auto it = all_.find(pull);
    if (it == all_.end()) return;  // it was lost
    it->second.end = std::max(it->second.end, end);
    it->second.answered = true;
    set_due();
  }
  /// Its copying has ended. True if the carrier's call for it has returned, so that `take` may give it.
  bool copied(uint64_t pull, pull_status how) {
    const std::lock_guard lock(mutex_);
    auto& p = all_.at(pull);
    p.copied = how;
    set_due();
    return p.begun;
  }

  // These pulls are lost, as soon as their copying has ended. `take` gives them, whatever `due` says.

  void lose(node_id peer, incarnation_id incarnation) {
    lose_if([&](const waiting& p) { return p.from == peer && p.incarnation == incarnation; });
  }
  void lose(node_id peer) {
    lose_if([&](const waiting& p) { return p.from == peer; });
  }
  void lose_all() {
    lose_if([](const waiting&) { return true; });
  }

  /// Takes those that have ended, in the order of their beginning.
  ended take(time_point now) {
    const std::lock_guard lock(mutex_);
    ended out;
    for (auto it = all_.begin(); it != all_.end();) {
      auto& p = it->second;
      if (!p.is_over(now)) {
        ++it;
        continue;
      }
      const bool lost = p.lost && *p.copied == pull_status::ok;
      out.emplace_back(std::move(p.done), lost ? pull_status::lost : *p.copied);
      it = all_.erase(it);
    }
    set_due();
    return out;
  }
  /// When the time of the next copied one is over; `never` if that is unknown.
  time_point due() const { return due_.load(std::memory_order_acquire); }

 private:
  struct waiting {
    node_id from;
    incarnation_id incarnation;
    pull_done done;
    time_point end;  ///< of its time on the interfaces that are known
    bool begun = false, answered = false, lost = false;
    std::optional<pull_status> copied = {};

    bool waits_for_time() const { return begun && copied == pull_status::ok && answered && !lost; }
    bool is_over(time_point now) const {
      if (!begun || !copied) return false;
      return lost || *copied != pull_status::ok || (answered && end <= now);
    }
  };

  template <class Which>
  void lose_if(Which which) {
    const std::lock_guard lock(mutex_);
    for (auto& [number, p] : all_)
      if (which(p)) p.lost = true;
    set_due();
  }
  void set_due() {
    auto first = never;
    for (const auto& [number, p] : all_)
      if (p.waits_for_time()) first = std::min(first, p.end);
    due_.store(first, std::memory_order_release);
  }

  std::mutex mutex_;
  std::map<uint64_t, waiting> all_;  ///< by number
  uint64_t next_;
  std::atomic<time_point> due_{never};
};

}  // namespace troupe
