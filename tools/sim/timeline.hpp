// The timeline of a simulated cluster: one queue of events for all nodes.
#pragma once
#include <boost/heap/d_ary_heap.hpp>
#include <functional>
#include <vector>

#include "policies/common/random.hpp"
#include "tools/sim/sim_clock.hpp"
#include "transport/fabric/sim_network.hpp"

namespace troupe::sim {

/// Events run in the order of (time, kind, order of scheduling). The events of a frozen node wait; the events
/// of an ended process never run.
class timeline final : public sim_timeline {
 public:
  timeline(uint64_t seed, size_t nodes) : random_(seed, "network"), nodes_(nodes) {}

  /// Sets the clock of a node, which must outlive the timeline.
  void set_clock(node_id n, const sim_clock& c) { nodes_[n.value].time = &c; }

  // sim_timeline
  duration now() const override { return now_; }
  void at(duration t, sim_event kind, node_id owner, std::function<void()> action) override;
  void at_local(time_point t, sim_event kind, node_id owner, std::function<void()> action) override;
  void at(duration t, sim_event kind, std::function<void()> action) override;
  uint64_t draw() override { return random_(); }

  /// Advances to the next event and runs it, if it is at `until` or earlier; else advances to `until`.
  bool step(duration until);

  /// The process of this node begins or ends.
  void begin_process(node_id n) { nodes_[n.value].alive = true; }
  void end_process(node_id n);
  void freeze(node_id n) { ++nodes_[n.value].frozen; }
  void thaw(node_id n);
  bool frozen(node_id n) const { return nodes_[n.value].frozen > 0; }

  const duration& truth() const { return now_; }
  uint64_t steps() const { return steps_; }

 private:
  struct job {
    std::function<void()> run;
    uint32_t owner = 0;
    uint32_t process = 0;  ///< number of the owner's process
  };
  struct entry {
    unsigned __int128 key;  ///< time, kind, sequence, from the upper bits on: one comparison
    uint32_t place;         ///< index of its job
    duration at() const { return duration{static_cast<int64_t>(key >> 64)}; }
    bool operator>(const entry& o) const { return key > o.key; }
  };
  struct node_state {
    const sim_clock* time = nullptr;
    uint32_t process = 0;
    bool alive = false;
    int frozen = 0;
    std::vector<entry> waiting;  ///< events that came due while it was frozen
  };
  static constexpr uint32_t world = ~0u;

  void push(duration t, sim_event kind, job j);
  void run(const entry& e);

  random_stream random_;
  std::vector<node_state> nodes_;
  duration now_{};
  uint64_t sequence_ = 0, steps_ = 0;
  boost::heap::d_ary_heap<entry, boost::heap::arity<4>, boost::heap::compare<std::greater<>>> queue_;
  std::vector<job> jobs_;
  std::vector<uint32_t> free_jobs_;
};

}  // namespace troupe::sim
