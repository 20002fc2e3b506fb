// Programs that a command starts beside itself, and what they need.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace troupe {

/// A program that runs until it ends or is told to. Its standard output can be read here.
class child_process {
 public:
  /// `words[0]` is looked for on the PATH. Its standard error is ours, or nowhere if `quiet`. Throws
  /// std::runtime_error if it cannot be started.
  explicit child_process(const std::vector<std::string>& words, bool quiet = false);
  /// Kills it if it still runs.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// The next line of its output, without its end; empty at the end.
  std::string read_line();
  /// All that is left of its output; waits until it has closed it.
  std::string read_all();
  /// Asks it to end (SIGTERM) and waits until it has.
  void stop();

 private:
  void wait();

  pid_t pid_ = -1;
  int output_ = -1;
};

/// Whether a program of this name can be started.
bool is_on_path(const std::string& program);

/// A TCP port of this host that nobody listens on at the moment. Throws std::runtime_error.
int free_port();

}  // namespace troupe
