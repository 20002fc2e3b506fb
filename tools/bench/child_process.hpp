// Child processes of a command, and helpers to start them.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace troupe {

/// A program that runs until it ends or is stopped. Its standard output can be read here.
class child_process {
 public:
  /// Looks `words[0]` up on the PATH. Standard error is inherited, or discarded if `quiet`. Throws
  /// std::runtime_error if the program cannot be started.
  explicit child_process(const std::vector<std::string>& words, bool quiet = false);
  /// Kills it if it still runs.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// The next line of its output, without the newline; empty at the end.
  std::string read_line();
  /// The rest of its output; waits until the program closes it.
  std::string read_all();
  /// Sends SIGTERM and waits until it has ended.
  void stop();

 private:
  void wait();

  pid_t pid_ = -1;
  int output_ = -1;
};

/// Whether a program of this name can be started.
bool is_on_path(const std::string& program);

/// A TCP port of this host without a listener at the moment. Throws std::runtime_error.
int free_port();

}  // namespace troupe
