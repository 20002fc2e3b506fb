#include "transport/common/alarm_clock.hpp"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace troupe {

alarm_clock::alarm_clock() : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (timer_ < 0) throw std::system_error(errno, std::generic_category(), "making a timerfd");
}

alarm_clock::~alarm_clock() { ::close(timer_); }

void alarm_clock::set(duration after) {
  itimerspec t{};  // zero: off
  if (after != duration::max()) {
    const auto d = std::max<duration>(after, 1ns);
    t.it_value = {d / 1s, (d % 1s).count()};
  }
  ::timerfd_settime(timer_, 0, &t, nullptr);
}

void alarm_clock::wait() {
  pollfd p[] = {{bell_.fd(), POLLIN, 0}, {timer_, POLLIN, 0}};
  while (::poll(p, 2, -1) < 0 && errno == EINTR) {
  }
  uint64_t expirations = 0;
  if (p[0].revents != 0) bell_.answer();
  if (p[1].revents != 0) static_cast<void>(!::read(timer_, &expirations, sizeof expirations));
}

}  // namespace troupe
