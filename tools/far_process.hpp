// The other process of a benchmark: a fork of this one, and a socket to talk to it. Fork before any thread
// has been started.
#pragma once
#include <sys/types.h>

#include <string>

namespace troupe {

class far_process {
 public:
  /// Runs `be(fd)` in a new process, which ends when that returns.
  explicit far_process(void (*be)(int fd));
  /// Closes the socket, which the other process takes as the end, and waits for it.
  ~far_process();
  far_process(const far_process&) = delete;
  far_process& operator=(const far_process&) = delete;
  int fd() const { return fd_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

// One datagram there, one back. Throw std::runtime_error if the other process is gone.
void tell(int fd, const std::string& text);
std::string hear(int fd);
/// Waits until the other side has closed its end.
void hear_the_end(int fd);

}  // namespace troupe
