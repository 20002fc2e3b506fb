// Bugs that tests plant to prove that the invariants of the simulation would notice them. Only in builds with
// TROUPE_PLANTED_BUGS; otherwise `planted` is a constant and costs nothing.
#pragma once
#include <cstdint>

namespace troupe {

enum class bug : uint8_t {
  none,
  skip_verify,       ///< what was pulled is taken for what was asked for
  double_outcome,    ///< a dropped request stays in the table
  miscount,          ///< drops do not reach the ledger
  late_start,        ///< a worker runs what should have started by now
  two_batches,       ///< a worker does not wait for its device
  lose_drops,        ///< a queue does not say what it dropped
  leak_slot,         ///< the input of a dropped request is kept
  no_expiry,         ///< a gateway waits forever
  throw_up,          ///< a queue throws when a request is cancelled
  trust_everybody,   ///< a queue has no poison retries when a worker dies
  early_unload,      ///< a worker unloads a model that runs
  hasty_leave,       ///< a node leaves without waiting for its peers' leave_acks
  keep_log,          ///< a deployer tells a node that comes nothing of the log
  leave_early,       ///< a tenant's place is free though a worker still runs its request
  hasty_leader,      ///< a new scheduler grants before it knows what runs
  forget_preempted,  ///< a queue does not run again what was stopped
  answer_stopped,    ///< a worker takes what was stopped for done
  obey_anybody,      ///< a worker does what a scheduler orders that was deposed
  any_size,          ///< a queue makes batches of any size
  forget_token,      ///< a gateway tells the next engine all of a sequence but its last token
  old_engine,        ///< a gateway takes tokens of an engine that a sequence has left
  mixed_pages,       ///< an engine computes with a KV block of another sequence
  wrong_slot,        ///< an engine loads another adapter than the one that sequences wait for
  keep_route,        ///< a gateway does not tell its router that requests have ended
  deaf_engine,       ///< an engine goes on with what was cancelled
  hasty_slot,  ///< an engine takes adapters away from sequences that have ended, though a step has them yet
  wrong_row    ///< a step that is started ahead takes the tokens of other sequences
};
inline constexpr uint8_t bug_count = 28;

#ifdef TROUPE_PLANTED_BUGS
inline bug planted_bug = bug::none;
static inline bool planted(bug b) { return planted_bug == b; }
#else
static constexpr bool planted(bug) { return false; }
#endif

}  // namespace troupe
