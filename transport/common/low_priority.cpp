#include "transport/common/low_priority.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <vector>

namespace troupe {
namespace {

duration time_on(clockid_t clock) {
  timespec t{};
  if (::clock_gettime(clock, &t) != 0) return {};
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

struct low_priority_threads {
  std::mutex mutex;
  std::vector<clockid_t> running;  ///< their CPU clocks
  duration ended{};                ///< of those that have ended

  /// Threads may end after the destructors of static objects.
  static low_priority_threads& all() {
    static auto& it = *new low_priority_threads;
    return it;
  }
};

/// The calling thread among them, until it ends.
class counted_thread {
 public:
  counted_thread() {
    if (::pthread_getcpuclockid(::pthread_self(), &clock_) != 0) return;
    auto& all = low_priority_threads::all();
    const std::lock_guard lock(all.mutex);
    all.running.push_back(clock_);
  }
  ~counted_thread() {
    auto& all = low_priority_threads::all();
    const std::lock_guard lock(all.mutex);
    if (std::erase(all.running, clock_) > 0) all.ended += time_on(CLOCK_THREAD_CPUTIME_ID);
  }
  counted_thread(const counted_thread&) = delete;
  counted_thread& operator=(const counted_thread&) = delete;

 private:
  clockid_t clock_{};
};

}  // namespace

void lower_priority() {
  const auto self = static_cast<id_t>(::gettid());  // on Linux these are the priorities of threads
  ::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + 10);
  has_low_priority = true;
  static thread_local const counted_thread here;
}

duration low_priority_cpu_time() {
  auto& all = low_priority_threads::all();
  const std::lock_guard lock(all.mutex);
  auto out = all.ended;
  for (const auto clock : all.running) out += time_on(clock);
  return out;
}

}  // namespace troupe
