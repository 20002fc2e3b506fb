#include "transport/common/low_priority.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace troupe;

namespace {

int own_priority() { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); }

/// Until the calling thread has taken so much CPU time.
void work_for(duration time) {
  timespec t{};
  do {
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  } while (std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec) < time);
}

}  // namespace

TEST_CASE("a low priority is that of its thread and of those that it creates") {
  const auto before = own_priority();
  int lowered = 0, created = 0;
  std::thread([&] {
    lower_priority();
    lowered = own_priority();
    std::thread([&] { created = own_priority(); }).join();
  }).join();
  const int expected = std::min(before + 10, 19);
  CHECK(lowered == expected);
  CHECK(created == expected);
  CHECK(!has_low_priority);
  CHECK(own_priority() == before);
}

TEST_CASE("the CPU time of threads with a low priority is counted, while they run and when they have ended") {
  const auto before = low_priority_cpu_time();
  std::mutex mutex;
  std::condition_variable changed;
  bool worked = false, looked = false;
  std::thread lowered([&] {
    lower_priority();
    work_for(50ms);
    std::unique_lock lock(mutex);
    worked = true;
    changed.notify_all();
    changed.wait(lock, [&] { return looked; });
  });
  std::thread([] { work_for(100ms); }).join();  // not counted
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return worked; });
    const auto running = low_priority_cpu_time() - before;
    CHECK(running >= 50ms);
    CHECK(running < 90ms);
    looked = true;
    changed.notify_all();
  }
  lowered.join();
  const auto ended = low_priority_cpu_time() - before;
  CHECK(ended >= 50ms);
  CHECK(ended < 90ms);
}
