// Bugs that tests switch on to prove that the invariants of the simulation detect them. Only in builds with
// TROUPE_PLANTED_BUGS; otherwise `planted` is a constant and costs nothing.
#pragma once
#include <cstdint>

namespace troupe {

enum class bug : uint8_t {
  none,
  skip_verify,       ///< pulled bytes are used without validation
  double_outcome,    ///< a dropped request stays in the table
  miscount,          ///< drops do not reach the ledger
  late_start,        ///< a worker starts batches after their latest start
  two_batches,       ///< a worker does not wait for its device
  lose_drops,        ///< a queue does not report its drops
  leak_slot,         ///< the input of a dropped request is kept
  no_expiry,         ///< requests of a gateway never expire
  throw_up,          ///< a queue throws when a request is cancelled
  trust_everybody,   ///< a queue has no poison retries when a worker dies
  early_unload,      ///< a worker unloads a model that runs
  hasty_leave,       ///< a node leaves without waiting for its peers' leave_acks
  keep_log,          ///< a deployer does not send the log to a node that joins
  leave_early,       ///< a tenant's place is free while a worker still runs its request
  hasty_leader,      ///< a new scheduler grants before it knows the running batches
  forget_preempted,  ///< a queue does not rerun preempted batches
  answer_stopped,    ///< a worker answers a stopped batch as if it had run
  obey_anybody,      ///< a worker accepts orders of a deposed scheduler
  any_size,          ///< a queue makes batches of any size
  mixed_shapes,      ///< a queue runs requests of different shapes together
  forget_token,      ///< a gateway omits the last token when it moves a sequence to another engine
  mixed_pages,       ///< an engine computes with a KV block of another sequence
  wrong_slot,        ///< an engine loads an adapter other than the one that sequences wait for
  keep_route,        ///< a gateway does not tell its router that requests have ended
  deaf_engine,       ///< an engine ignores cancellations
  hasty_slot,        ///< an engine replaces adapters of ended sequences that the current step still uses
  wrong_row,         ///< a step that is started ahead takes the tokens of other sequences
  stale_chunk,       ///< a chain link takes chunks with a wrong hash
  same_offset,  ///< a chain link pulls every layer from the place of the first one (BlitzScale's repository)
  drop_last_copy,       ///< a parameter pool drops images that no other node has
  half_loaded,          ///< an engine serves before its last layer has arrived
  zombie_engine,        ///< an engine serves on although it was told to be idle
  busy_source,          ///< a parameter pool has images sent over a link that sends another model
  two_successors,       ///< a parameter pool has one node send the same images twice
  old_orders,           ///< a parameter shard obeys the orders of former leaders
  forget_suspects,      ///< a gateway does not tell a new leader which requests may have crashed a worker
  uncounted_loading,    ///< a scale planner orders instances for a load although others load for it
  stale_block,          ///< an engine's prefix cache counts evicted blocks as cached
  wrong_adapter_block,  ///< an engine shares KV blocks between adapters
  freed_in_use,         ///< an engine's prefix cache evicts blocks that sequences hold
  double_home,          ///< an engine goes on with a request that it has handed over
  leak_lease,           ///< an engine keeps the blocks of handed-over requests for ever
  freed_lease           ///< an engine gives leased blocks to other sequences
};
inline constexpr uint8_t bug_count = 44;

#ifdef TROUPE_PLANTED_BUGS
inline bug planted_bug = bug::none;
static inline bool planted(bug b) { return planted_bug == b; }
#else
static constexpr bool planted(bug) { return false; }
#endif

}  // namespace troupe
