// CAF hosts run actor groups as CAF actors: on a real node an actor with a thread of its own and precise
// timers, in simulation a scheduled actor. Both take `delivery`, `regrouping`, `report_query` and
// `command_query`, and end on an exit message. After an exception they call `broken` and end.
#pragma once
#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <functional>
#include <memory>

#include "actors/runtime/actor_group.hpp"
#include "actors/runtime/supervision.hpp"

namespace troupe {

/// How a real CAF host waits for the next message or wake-up. It spins only while turns follow each other
/// closely (transport/common/spin_budget.hpp).
struct caf_host_timing {
  duration spin{};      ///< spins this long before a wake-up, because sleeping threads wake late
  duration linger{};    ///< spins this long after a turn, because answers may follow at once
  duration interval{};  ///< under load at most one turn per interval (turn_rate_limiter.hpp)
  bool direct = true;   ///< senders may take its turns while it sleeps (direct_turns.hpp): these are short
};

/// Timing of real nodes. Simulated nodes use its interval.
inline constexpr caf_host_timing usual_timing{50us, 30us, 100us};

/// The CAF host of real nodes; `time` outlives it. `broken` is called by the thread whose turn threw.
caf::actor spawn_threaded_caf_host(caf::actor_system& system, std::unique_ptr<actor_group> group,
                                   const machine_clock& time, const caf_host_timing& timing,
                                   on_broken broken);

/// Sends `wake_atom` to the given actor at a time of its node's clock. A later call may or may not replace an
/// earlier one, so frequent callers remember the time that they asked for.
using wake_service = std::function<void(const caf::actor&, time_point)>;

/// Called with each message before its actor.
using delivery_watch = std::function<void(const envelope&)>;

/// The CAF host of simulated nodes; `interval` as in `caf_host_timing`. `time` outlives it.
caf::actor spawn_scheduled_caf_host(caf::actor_system& system, std::unique_ptr<actor_group> group,
                                    const clock& time, duration interval, wake_service wake, on_broken broken,
                                    delivery_watch watch = {});

}  // namespace troupe
