// The process of a real node: whether it is ready or draining, and the callbacks of its actors, which become
// events of the main thread.
#pragma once
#include <atomic>
#include <string>

#include "actors/kinds/node_environment.hpp"
#include "messages/cluster/cluster.hpp"
#include "tools/node/events.hpp"

namespace troupe {

class node_process {
 public:
  /// Both must outlive the object.
  node_process(const cluster_spec& cluster, node_events& events) : cluster_(cluster), events_(events) {}

  process_part part();
  /// Callback for an exception in an actor, after which the process ends.
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
