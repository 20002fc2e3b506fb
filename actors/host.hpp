// Hosts run shell groups as CAF actors: in reality one that owns its thread and waits exactly, in simulation
// a scheduled one. Both take `delivery` and `report_query`; `exit` ends them. If a shell throws, they call
// `broken` and end.
#pragma once
#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <functional>
#include <memory>

#include "actors/shell_group.hpp"
#include "actors/supervision.hpp"

namespace troupe {

/// The real host. Waits until a message or the next wake-up comes; spins for the last `spin` before a
/// wake-up, because a sleeping thread wakes late.
caf::actor spawn_threaded_host(caf::actor_system& system, std::unique_ptr<shell_group> group,
                               const machine_clock& time, duration spin, on_broken broken);

/// Calls the given actor with `wake_atom` at a time of its node's clock; a later call replaces an earlier
/// one.
using wake_service = std::function<void(const caf::actor&, time_point)>;

/// Sees each message before its shell does.
using delivery_watch = std::function<void(const envelope&)>;

/// The simulated host.
caf::actor spawn_scheduled_host(caf::actor_system& system, std::unique_ptr<shell_group> group,
                                const clock& time, wake_service wake, on_broken broken,
                                delivery_watch watch = {});

}  // namespace troupe
