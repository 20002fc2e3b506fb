// Advice on how many GPUs to add or remove (Symphony §3.5). It requires a scheduler with a flat top: below
// its peak, the idle time of GPUs is proportional to the spare capacity; above it, the bad rate grows with
// the excess load.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

struct autoscale_parameters {
  double bad_rate = 0.01;  ///< tolerated
  double reserve = 0.1;    ///< idle GPUs to keep, as a fraction of the busy ones
  uint32_t min_gpus = 1, max_gpus = ~0u;
};

/// Measurements since the previous sample.
struct load_sample {
  uint32_t gpus = 0;           ///< in service, at its end
  duration busy{};             ///< of all GPUs together
  uint64_t good = 0, bad = 0;  ///< requests that ended in time; all others
};

struct scale_advice {
  int32_t gpus = 0;     ///< GPUs to add; negative: to remove
  double bad_rate = 0;  ///< r, of the last two samples
  double idle = 0;      ///< f, a fraction of the GPUs, in the busiest sample of the window
};

/// Takes a sample each `window / samples`. N is the number of GPUs.
///
/// Add: N·r/(1 − r) at bad rate r, rounded up, once both of the last two samples exceed the tolerated rate.
/// That is a fifth of the window: overload needs a fast answer, and two samples distinguish it from one
/// burst.
///
/// Remove: N·f at idle fraction f, less the reserve, rounded down. f is that of the busiest sample of a whole
/// window with a tolerated bad rate: removing late costs little, and the load may soon reach its recent peak
/// again.
///
/// When N changes, both begin anew, because earlier samples are about another cluster. A number of GPUs that
/// was too few for a load is not advised again unless the load is a tenth lower, so that advice does not
/// oscillate.
class autoscale_advice {
 public:
  static constexpr uint32_t samples = 10;  ///< per window

  explicit autoscale_advice(const autoscale_parameters& p) : parameters_(p) {}

  /// The first call only begins the first sample.
  const scale_advice& add(time_point now, const load_sample& s);
  const scale_advice& advice() const { return advice_; }

 private:
  struct sample {
    double busy = 0;  ///< GPUs
    uint64_t good = 0, bad = 0;
  };

  double bad_rate_of(size_t last) const;
  int32_t more() const;
  int32_t fewer() const;
  double peak() const;
  void begin_anew(uint32_t gpus);

  const autoscale_parameters parameters_;
  std::optional<time_point> last_;
  uint32_t gpus_ = 0;
  std::vector<sample> window_;         ///< the oldest first
  std::optional<double> given_up_at_;  ///< busy GPUs when N fell, until the smaller N has proved sufficient
  std::optional<uint32_t> too_few_;    ///< GPUs
  double too_few_at_ = 0;              ///< number of busy GPUs at that time
  scale_advice advice_;
};

}  // namespace troupe
