#include "tools/commands/screen.hpp"

#include <doctest/doctest.h>
#include <signal.h>

using namespace troupe;

TEST_CASE("screen: waits for the given time, and not at all for a past time") {
  screen terminal(false);
  const machine_clock time;
  const auto began = time.now();
  CHECK(terminal.wait(20ms));
  CHECK(time.now() - began >= 20ms);
  CHECK(terminal.wait(-1ms));  // a negative time would be infinite for poll
  CHECK(terminal.wait(-5s));
}

TEST_CASE("screen: a signal ends the wait, even one before it") {
  screen terminal(false);
  raise(SIGTERM);
  CHECK_FALSE(terminal.wait(10s));
}
