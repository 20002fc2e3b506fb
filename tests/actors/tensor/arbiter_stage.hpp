// A stage for an arbiter of one node's slots, with the queues of eight models.
#pragma once
#include "actors/tensor/rank_arbiter.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

constexpr address queue_of(uint32_t model, uint64_t incarnation = 10) {
  return {scheduler_node, {incarnation}, role::model_queue, model};
}

/// A slot with all models of these tests.
inline slot_ready has_all(uint32_t slot, uint64_t incarnation = 12) {
  auto s = ready(slot, incarnation);
  for (uint32_t i = 1; i < 8; ++i) {
    s.models.push_back(s.models[0]);
    s.models.back().model = model_id{i};
  }
  return s;
}

/// Batches take 10 unless given otherwise; a unit is 1 ms.
struct arbiter_stage : stage<rank_arbiter> {
  explicit arbiter_stage(uint32_t slots = 1) : stage(the_arbiter, make_matchmaking("lowest_id")) {
    for (uint32_t i = 0; i < slots; ++i) deliver(has_all(i));
  }
  void offer(uint32_t model, double exec_at, double latest, duration delay = {}, uint32_t rows = 1) {
    deliver(candidate{model_id{model}, ++sequence, rows, at(exec_at), at(latest), delay}, queue_of(model));
  }
  void answer(const grant& g, uint64_t batch, double free_at) {
    deliver(occupied{g.model, g.sequence, g.slot, {batch}, at(free_at)}, queue_of(g.model.value));
  }
  void done(uint64_t batch, uint32_t model, uint32_t slot, double end, refusal why = refusal::none) {
    deliver(batch_done{{batch}, model_id{model}, slot_id{slot}, why, 1, now, at(end), {}}, worker_of(slot));
  }
  void poison_retry(uint32_t model) {
    deliver(candidate{model_id{model}, ++sequence, 1, now, never, {}, true}, queue_of(model));
  }
  void answer_alone(const grant& g, uint64_t batch) {
    deliver(occupied{g.model, g.sequence, g.slot, {batch}, now + 10ms, true}, queue_of(g.model.value));
  }
  /// On slot 0, for model 0: batch 1 runs until 10, and batch 2 is granted behind it, until 20. It is 8 then.
  void run_two() {
    offer(0, 0, 100, 2ms);
    answer(out.one<grant>(), 1, 10);
    offer(0, 0, 100, 2ms);
    run_until(at(8));
    answer(out.one<grant>(), 2, 20);
  }
  uint64_t sequence = 0;
};

inline slot_ready ready_on(node_id node, uint32_t slot) {
  auto r = ready(slot);
  r.worker.node = node;
  return r;
}

}  // namespace troupe::test
