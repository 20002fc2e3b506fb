// Protocol of Symphony's scheduler: candidate → grant → order → done (paper, Fig. 18).
#pragma once
#include <cstdint>
#include <vector>

#include "messages/tensor/request.hpp"

namespace troupe {

/// model_queue → rank_arbiter: the batch that the model could run next; replaces the model's previous one.
/// `rows == 0`: it has none. A candidate is a hint: the batch is formed anew when the grant arrives.
struct candidate {
  model_id model;
  uint64_t sequence = 0;  ///< number of this candidate within the model; its grant repeats it
  uint32_t rows = 0;
  time_point exec_at = never;    ///< planned start
  time_point latest = long_ago;  ///< latest start
  duration delay{};              ///< from a grant to the inputs being on the device
  bool alone = false;  ///< a poison retry: nothing else may run there meanwhile. A model has at most one such
                       ///< candidate besides its ordinary one.
  double need = 0;     ///< slots that the model's current rate keeps busy; 0: unknown
  std::vector<slot_id> slots{};  ///< only these; empty: all slots that have the model
  TROUPE_MESSAGE(candidate, model, sequence, rows, exec_at, latest, delay, alone, need, slots)
  bool operator==(const candidate&) const = default;
};

/// rank_arbiter → model_queue: the slot belongs to this model from `free_at` until the end that its
/// `occupied` states.
struct grant {
  model_id model;
  uint64_t sequence = 0;  ///< of the candidate it answers
  slot_id slot;
  address worker;
  time_point free_at = never;
  bool alone = false;     ///< as in the candidate
  double load = 1;        ///< total need of all models divided by the number of slots
  bool preempts = false;  ///< the slot's running batch is to be preempted
  TROUPE_MESSAGE(grant, model, sequence, slot, worker, free_at, alone, load, preempts)
  bool operator==(const grant&) const = default;
};

/// model_queue → rank_arbiter: answers a grant. The slot is busy until `free_at` with `batch` (batch 0: the
/// model has nothing to run, the slot is free).
struct occupied {
  model_id model;
  uint64_t sequence = 0;
  slot_id slot;
  batch_id batch;
  time_point free_at = never;
  bool alone = false;  ///< as in the grant
  TROUPE_MESSAGE(occupied, model, sequence, slot, batch, free_at, alone)
  bool operator==(const occupied&) const = default;
};

/// model_queue → gpu_worker: run these requests as one batch.
struct batch_order {
  batch_id batch;
  term_id term;
  model_id model;
  slot_id slot;
  address queue;                  ///< the queue that ordered it
  time_point ordered_at = never;  ///< when
  time_point exec_at = never;     ///< planned start; in the past if the grant came late
  time_point start_by = never;    ///< the worker refuses it if it cannot start by then
  std::vector<request> requests;
  bool preempts = false;  ///< preempt the slot's running batch if this one can start in time
  TROUPE_MESSAGE(batch_order, batch, term, model, slot, queue, ordered_at, exec_at, start_by, requests,
                 preempts)
  bool operator==(const batch_order&) const = default;
};

/// Why a worker did not run a batch. None of its requests started, except for `preempted`: then its work so
/// far is lost.
enum class refusal : uint16_t { none, late, old_term, busy, unknown_model, no_memory, preempted };
inline constexpr size_t refusal_count = 7;
std::string_view to_string(refusal r);

/// gpu_worker → model_queue and rank_arbiter: the batch has left the slot.
struct batch_done {
  batch_id batch;
  model_id model;
  slot_id slot;
  refusal refused = refusal::none;  ///< none: it ran
  uint32_t rows = 0;
  time_point started_at = never;
  time_point finished_at = never;
  std::vector<request_id> stale;  ///< requests whose inputs were gone; the others ran (or were refused)
  TROUPE_MESSAGE(batch_done, batch, model, slot, refused, rows, started_at, finished_at, stale)
  bool operator==(const batch_done&) const = default;
};

/// gpu_worker → the rank_arbiter of a new leader, which forwards it to the queue of the model: the slot now
/// refuses orders of earlier terms, and only this batch of those still runs. Nothing is granted before all
/// slots have reported.
struct handover {
  slot_id slot;
  address worker;
  term_id term;                   ///< of the new leader
  batch_id batch;                 ///< the one still running; 0: none
  model_id model;                 ///< its model
  std::vector<request> requests;  ///< its requests
  TROUPE_MESSAGE(handover, slot, worker, term, batch, model, requests)
  bool operator==(const handover&) const = default;
};

}  // namespace troupe
