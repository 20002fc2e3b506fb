// A terminal that shows one changing page: `troupe top` and other watchers.
#pragma once
#include <string>

#include "messages/common/time.hpp"

namespace troupe {

/// Takes the terminal over (another screen, no echo) if `full` and standard output is one, and gives it back
/// however the program ends short of SIGKILL. Otherwise pages are printed one after the other. At most one at
/// a time.
class screen {
 public:
  explicit screen(bool full);
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  bool full() const { return full_; }
  /// Replaces the page; lines are cut at the width of the terminal.
  void show(const std::string& page);
  /// Until `d` is over; a time that has passed is over at once. False if the user wants to leave: `q`, or
  /// SIGINT or SIGTERM.
  bool wait(duration d);

 private:
  bool full_;
};

}  // namespace troupe
