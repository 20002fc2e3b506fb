// The process around a real node: what it has come to, and how its actors tell the main thread.
#pragma once
#include <atomic>
#include <string>

#include "actors/kinds/node_environment.hpp"
#include "messages/cluster/cluster.hpp"
#include "tools/node/events.hpp"

namespace troupe {

class node_process {
 public:
  /// Both outlive it.
  node_process(const cluster_spec& cluster, node_events& events) : cluster_(cluster), events_(events) {}

  process_part part();
  /// The process should end: an actor threw.
  on_broken broken();

  bool ready() const { return ready_; }
  bool draining() const { return draining_; }
  void begin_drain() { draining_ = true; }

 private:
  void on_ready(bool yes);

  const cluster_spec& cluster_;
  node_events& events_;
  std::atomic<bool> ready_{false}, draining_{false};
};

}  // namespace troupe
