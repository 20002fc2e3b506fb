#include "transport/fabric/ucx/range_copies.hpp"

#include <pthread.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/common/low_priority.hpp"
#include "transport/common/streaming_copy.hpp"

namespace troupe::ucx {

range_copies::~range_copies() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    cancelled_ = true;
  }
  more_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void range_copies::add(const void* owner, pull_sources from, pull_plan plan, pull_done done) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {  // too many threads, for now
      return done(pull_status::lost);
    }
  }
  const auto number = ++last_;
  waiting_.emplace(number, waiting{owner, std::move(done)});
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({number, std::move(from), std::move(plan)});
  }
  more_.notify_one();
}

void range_copies::cancel(const void* owner) {
  std::vector<pull_done> lost;
  std::set<uint64_t> numbers;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.owner != owner) {
      ++it;
      continue;
    }
    numbers.insert(it->first);
    lost.push_back(std::move(it->second.done));
    it = waiting_.erase(it);
  }
  if (numbers.empty()) return;
  {
    std::unique_lock lock(mutex_);
    std::erase_if(queue_, [&](const copying& c) { return numbers.contains(c.number); });
    if (numbers.contains(running_)) {
      cancelled_ = true;
      ended_.wait(lock, [&] { return !numbers.contains(running_); });
    }
  }
  for (const auto& done : lost) done(pull_status::lost);
}

void range_copies::finish(uint64_t number) {
  const auto ended = waiting_.extract(number);
  if (ended) ended.mapped().done(pull_status::ok);  // else it was cancelled
}

// ---- the copying thread ----

void range_copies::run() {
  pthread_setname_np(pthread_self(), "copies");
  if (priority_ == copy_priority::low) lower_priority();
  std::unique_lock lock(mutex_);
  while (true) {
    more_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const auto c = std::move(queue_.front());
    queue_.pop_front();
    running_ = c.number;
    cancelled_ = false;
    lock.unlock();
    if (copy(c)) post_([this, number = c.number] { finish(number); });
    lock.lock();
    running_ = 0;
    ended_.notify_one();
  }
}

/// False: it was cancelled.
bool range_copies::copy(const copying& c) const {
  for (size_t i = 0; i < c.plan.early; ++i) {
    const auto from = c.from[i];
    for (size_t at = 0; at < from.size(); at += slice) {
      if (cancelled_) return false;
      const size_t bytes = std::min(slice, from.size() - at);
      streaming_copy(from.subspan(at, bytes), c.plan.ranges[i].into.subspan(at, bytes));
    }
  }
  write_last(c.plan, read_last(c.from, c.plan.early));
  return true;
}

}  // namespace troupe::ucx
