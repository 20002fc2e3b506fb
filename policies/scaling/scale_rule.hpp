// Decides how many instances a model needs for its load (BlitzScale §5.3; the formulas are those of its
// repository).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "messages/common/time.hpp"

namespace troupe {

/// Fractions of what an instance can do. Below the lower one there are too many instances, above the upper
/// one too few.
struct scale_bounds {
  double low = 0, high = 1;
  bool operator==(const scale_bounds&) const = default;
};

/// What the requests of a model need of one resource, and what one instance has of it.
struct resource_load {
  double demand = 0;
  double of_instance = 0;  ///< 0: not measured yet
  scale_bounds bounds;
};

/// The numbers of instances whose load is within the bounds.
struct instance_range {
  uint32_t min = 0, max = 0;
  bool operator==(const instance_range&) const = default;
};

/// min = ⌈W / (high · rate)⌉, max = ⌈W / (low · rate)⌉ for the demand W. Nothing: what an instance can do is
/// not measured yet.
std::optional<instance_range> instances_for(const resource_load& load);

enum class scale_reason : uint16_t {
  enough,      ///< the load is within the bounds, or nothing can be changed
  above,       ///< more: the load of some resource is above its upper bound
  below,       ///< one fewer: the load of every resource has been below its lower bound for long enough
  below_soon,  ///< likewise, but not for long enough
  too_few,     ///< likewise, but one fewer has proved too few for these arrivals
  unmeasured   ///< the load is not above the bounds as far as it is known
};
inline constexpr size_t scale_reason_count = 6;
std::string_view to_string(scale_reason r);

/// - Too few instances: the middle of the range, (min + max + 1) / 2, at once.
/// - Too many: one fewer, after the load was below the lower bounds for `down_after`; then that time begins
///   anew.
/// - Instances that are ordered count, whether they serve, load or wait for room. So a load that persists
///   while they load causes no second order.
/// - A number that the rule went down to, and that proved too few, is not returned to until the arrivals have
///   stayed below nine tenths of their maximum with that number, for `down_after`. So wrong rates of
///   instances cause no oscillation. That time doubles with each number that proves too few within ten
///   minutes of another, up to five minutes. So noisy arrivals cause few changes.
class scale_rule {
 public:
  struct parameters {
    uint32_t min_instances = 0, max_instances = 1;
    duration down_after = 2s;
  };
  struct decision {
    uint32_t instances = 0;  ///< wanted from now on
    instance_range needed;   ///< of all measured resources together, within the limits of the parameters
    scale_reason why = scale_reason::enough;
  };

  explicit scale_rule(const parameters& p) : parameters_(p) {}

  /// Call it several times in `down_after`. `arriving`: tokens that arrive a second. `ordered`: instances, as
  /// last ordered by anyone.
  decision decide(time_point now, std::span<const resource_load> loads, double arriving, uint32_t ordered);
  /// The loads since the last call are unknown: nothing that was learnt from them holds.
  void forget() { *this = scale_rule(parameters_); }

 private:
  struct proof {
    uint32_t instances = 0;
    double arriving = 0;
    time_point at;
    duration calm{};  ///< for so long arrivals must be fewer
    time_point fewer_since = never;
  };

  bool proved_too_few(uint32_t instances, time_point now) const;
  decision more(const decision& d, time_point now);
  decision fewer(const decision& d, time_point now);

  parameters parameters_;
  std::optional<uint32_t> ordered_;
  double most_arriving_ = 0;  ///< since this number was ordered
  bool went_down_ = false;    ///< the rule itself, to `ordered_`
  time_point below_since_ = never;
  std::optional<proof> too_few_;
};

}  // namespace troupe
