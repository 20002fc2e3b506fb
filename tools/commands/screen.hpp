// A terminal that shows one changing page: `troupe top` and other watchers.
#pragma once
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

/// Takes over the terminal (alternate screen, no echo) if `full` and standard output is a terminal, and
/// restores it however the program ends, except by SIGKILL. Otherwise prints pages one after the other. At
/// most one at a time.
class screen {
 public:
  explicit screen(bool full);
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  bool full() const { return full_; }
  /// Replaces the page; cuts lines at the width of the terminal.
  void show(const std::string& page);
  /// Waits for `d`; returns at once if it is not positive. Returns false if the user quits: `q`, SIGINT or
  /// SIGTERM.
  bool wait(duration d);

 private:
  bool full_;
};

}  // namespace troupe
