// The peer process of a benchmark: a fork of this one, connected by a socket. Fork before any thread starts.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>

namespace troupe {

class forked_process {
 public:
  /// Runs `be(fd)` in a new process, which ends when the function returns.
  explicit forked_process(const std::function<void(int fd)>& be);
  /// Closes the socket, which tells the other process to end, and waits for it.
  ~forked_process();
  forked_process(const forked_process&) = delete;
  forked_process& operator=(const forked_process&) = delete;
  int fd() const { return fd_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
};

// Send and receive one datagram. Throw std::runtime_error if the other process is gone.
void send_text(int fd, const std::string& text);
std::string receive_text(int fd);
/// Waits until the other side has closed its end.
void wait_for_close(int fd);

}  // namespace troupe
