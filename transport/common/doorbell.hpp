// Doorbell that wakes a thread that sleeps in the kernel: a descriptor to poll beside others.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace troupe {

class doorbell {
 public:
  doorbell() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "making an eventfd");
  }
  ~doorbell() { ::close(fd_); }
  doorbell(const doorbell&) = delete;
  doorbell& operator=(const doorbell&) = delete;

  int fd() const { return fd_; }
  /// From any thread. `fd` stays readable until it is answered.
  void ring() { static_cast<void>(!::eventfd_write(fd_, 1)); }
  void answer() {
    eventfd_t rings = 0;
    static_cast<void>(!::eventfd_read(fd_, &rings));
  }

 private:
  const int fd_;
};

}  // namespace troupe
