// Which requests a queue refuses at admission, so that nobody waits in vain.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"
#include "policies/common/rate_meter.hpp"

namespace troupe {

/// A queue in overload gives requests up when their time has run out: late news for whoever asked. So while
/// more than one row in twenty is lost, it holds no more rows than leave it, at their present rate, within
/// the time that a newcomer can wait (Little's law), less a batch, because they leave a batch at a time; the
/// rest is refused at once. The rate is that of the last two seconds. It is measured, so it knows of slots
/// shared with other models; and as a bounded queue still never runs dry, it stays the rate that the slots
/// can do.
class admission {
 public:
  /// Rows left the queue in a batch.
  void served(time_point now, uint32_t rows) { served_.count(now, rows); }
  /// Rows were refused, or given up after they had waited.
  void lost(time_point now, uint32_t rows) { lost_.count(now, rows); }

  /// How many rows may wait. `patience`: until when a newcomer's batch must have left, from now. `batch`:
  /// rows of a usual one; one for each of `slots` and one more may always wait, so that the slots stay busy.
  uint32_t bound(time_point now, duration patience, uint32_t batch, uint32_t slots);

 private:
  static constexpr duration bucket = 100ms;
  static constexpr uint32_t buckets = 20;
  static constexpr double tolerated = 0.05;

  rate_meter served_{bucket, buckets}, lost_{bucket, buckets};
  uint32_t bound_ = ~0u;
  time_point bound_until_ = long_ago;
};

}  // namespace troupe
