// Bandwidth of a network that is shared by long transfers, in virtual time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

/// Flows share the rates of the resources on their ways max-min fairly: the rate of a flow cannot grow
/// without taking from one that is no faster. A resource is one direction of an interface, a switch's uplink,
/// or any other limit. All numbers are whole, so the same calls give the same times everywhere.
class flow_network {
 public:
  using resource = uint32_t;
  using flow = uint64_t;

  /// Rates are in bytes/s, 1 at least.
  resource add(uint64_t bytes_per_s);
  /// From `now` on.
  void set_rate(resource r, uint64_t bytes_per_s, duration now);
  uint64_t rate_of(resource r) const { return resources_[r].rate; }

  /// Begins to move `bytes` over some resources, one at least, each named once.
  flow start(uint64_t bytes, std::span<const resource> over, duration now);
  /// A flow goes over one more resource from now on. Without effect if it has ended.
  void limit(flow f, resource r, duration now);
  /// Ends a flow early. Without effect if it has ended.
  void cancel(flow f, duration now);
  /// Flows that have moved all of their bytes by `now`, in the order of their ends, and of their starts at
  /// the same time. Each is reported once.
  std::vector<flow> ended(duration now);

  /// Time of the next end if no flow starts before; `duration::max()`: there is no flow.
  duration next_end() const;
  /// Present rate of a flow, in bytes/s; 0: it has ended.
  uint64_t rate(flow f) const;
  size_t flows() const { return flows_.size(); }

 private:
  struct shared_rate {
    uint64_t rate;
    uint64_t left = 0;     ///< while rates are shared out
    uint32_t sharing = 0;  ///< flows without a rate; likewise
  };
  struct moving {
    flow id;
    std::vector<resource> over;
    unsigned __int128 left;  ///< in 10⁻⁹ bytes
    uint64_t rate = 0;
    duration end{};
    bool has_rate = false;
  };

  /// No time before `now` is asked for again.
  void advance(duration now);
  void share_out();
  resource tightest() const;

  std::vector<shared_rate> resources_;
  std::vector<moving> flows_;  ///< by their ids
  std::vector<flow> ended_;    ///< not reported yet
  duration now_{};
  flow last_ = 0;
};

}  // namespace troupe
