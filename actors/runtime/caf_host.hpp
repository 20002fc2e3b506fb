// CAF hosts run actor groups as CAF actors: in reality one that owns its thread and waits exactly, in
// simulation a scheduled one. Both take `delivery`, `regrouping`, `report_query` and `command_query`; `exit`
// ends them. If an actor throws, or whatever else they do for the group, they call `broken` and end.
#pragma once
#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <functional>
#include <memory>

#include "actors/runtime/actor_group.hpp"
#include "actors/runtime/supervision.hpp"

namespace troupe {

/// How a real CAF host waits for the next message or wake-up.
struct caf_host_timing {
  duration spin{};  ///< it does not sleep for the last so much before a wake-up: a sleeping thread wakes late
  duration linger{};  ///< nor so long after a turn: what it led to may be back at once
  duration
      interval{};  ///< under load one turn in so long, for all that comes meanwhile (turn_rate_limiter.hpp)
};

/// Of the real cluster; its interval also of the simulated one.
inline constexpr caf_host_timing usual_timing{50us, 30us, 100us};

/// The real CAF host.
caf::actor spawn_threaded_caf_host(caf::actor_system& system, std::unique_ptr<actor_group> group,
                                   const machine_clock& time, const caf_host_timing& timing,
                                   on_broken broken);

/// Calls the given actor with `wake_atom` at a time of its node's clock. A later call may or may not replace
/// an earlier one: who calls often remembers what it has asked for.
using wake_service = std::function<void(const caf::actor&, time_point)>;

/// Sees each message before its actor does.
using delivery_watch = std::function<void(const envelope&)>;

/// The simulated CAF host; `interval` as in `caf_host_timing`.
caf::actor spawn_scheduled_caf_host(caf::actor_system& system, std::unique_ptr<actor_group> group,
                                    const clock& time, duration interval, wake_service wake, on_broken broken,
                                    delivery_watch watch = {});

}  // namespace troupe
