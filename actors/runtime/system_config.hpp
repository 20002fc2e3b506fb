// What every actor system of Troupe starts from: its messages, and no logging of CAF's own. Who sends or
// takes messages includes actors' or messages' caf_types.hpp as well: without the ids of their types CAF
// compiles, and fails when it serialises one.
#pragma once
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>

namespace troupe {

struct system_config : caf::actor_system_config {
  system_config();
};

/// Scheduled actors share so many threads, which sleep when there is nothing to do.
struct threaded_config : system_config {
  explicit threaded_config(unsigned threads) {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", threads);
  }
};

/// All scheduled actors run on the thread that steps them (caf::scheduler::test_coordinator).
struct stepped_config : system_config {
  stepped_config() { set("scheduler.policy", caf::atom("testing")); }
};

}  // namespace troupe
