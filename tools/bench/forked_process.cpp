#include "tools/bench/forked_process.hpp"
#include "tools/common/standard_streams.hpp"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace troupe {

forked_process::forked_process(const std::function<void(int fd)>& be) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    throw std::runtime_error("no socket pair");
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) {
    ::close(fds[0]);
    try {
      be(fds[1]);
    } catch (const std::exception& e) {
      report("the other process: {}", e.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(fds[1]);
  fd_ = fds[0];
}

forked_process::~forked_process() {
  ::close(fd_);
  ::waitpid(pid_, nullptr, 0);
}

void send_text(int fd, const std::string& text) {
  if (::send(fd, text.data(), text.size(), 0) < 0) throw std::runtime_error("the other process has ended");
}

std::string receive_text(int fd) {
  std::string text(65536, '\0');
  const ssize_t n = ::recv(fd, text.data(), text.size(), 0);
  if (n <= 0) throw std::runtime_error("the other process has ended");
  text.resize(static_cast<size_t>(n));
  return text;
}

void wait_for_close(int fd) {
  char end;
  static_cast<void>(::recv(fd, &end, 1, 0));
}

}  // namespace troupe
