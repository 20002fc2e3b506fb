// CAF configurations of Troupe's actor systems: message types are registered, CAF's own logging is off. Files
// that send or take messages include caf_types.hpp of actors/runtime or messages/wire too: without the type
// ids, code compiles but serialisation fails.
#pragma once
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>

namespace troupe {

struct system_config : caf::actor_system_config {
  system_config();
};

/// Scheduled actors share `threads` threads, which sleep when idle.
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
