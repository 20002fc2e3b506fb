// A stage for a model queue as in the paper's examples: ℓ(b) = b + 5, SLO 12; a unit is 1 ms.
#pragma once
#include "actors/tensor/model_queue.hpp"
#include "policies/registry/batchings.hpp"
#include "tests/actors/stage.hpp"

namespace troupe::test {

inline batching_parameters paper_parameters(duration slo = 12ms) {
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = slo;
  return p;
}

inline model_queue::options paper_queue(const address& arbiter = the_arbiter) {
  model_queue::options o;
  o.name = "m";
  o.arbiter = arbiter;
  o.term = term_id{10};
  o.latency_given = true;
  o.parameters = paper_parameters();
  return o;
}

/// `Base`: a stage<model_queue>, or one that can do more.
template <class Base = stage<model_queue>>
struct basic_queue_stage : Base {
  explicit basic_queue_stage(const model_queue::options& o, const char* batching = "deferred",
                             const char* shedding = "timeout", const address& self = the_queue)
      : Base(self, o, make_batching(batching, shedding, o.parameters)),
        slo(o.parameters.slo),
        arbiter(o.arbiter) {}

  request a_request(uint64_t id, const address& gateway = the_gateway) const {
    request r;
    r.id = request_id{id};
    r.gateway = gateway;
    r.arrival = this->now;
    r.deadline = this->now + slo;
    return r;
  }
  void arrive(uint64_t id, const address& gateway = the_gateway) {
    this->deliver(submit{{a_request(id, gateway)}}, gateway);
  }
  void grant_slot(uint32_t slot = 0, uint64_t incarnation = 12) {
    this->deliver(grant{model_id{0}, 1, slot_id{slot}, worker_of(slot, incarnation), this->now}, arbiter);
  }
  void end(const batch_order& o, refusal why = refusal::none) {
    this->deliver(batch_done{o.batch, o.model, o.slot, why, 1, this->now, this->now, {}},
                  worker_of(o.slot.value));
  }

  const duration slo;
  address arbiter;
};

/// Slot 0 has the model.
struct queue_stage : basic_queue_stage<> {
  explicit queue_stage(uint32_t max_queued_rows = 100, bool latency_given = true, duration margin = {})
      : basic_queue_stage(options(max_queued_rows, latency_given, margin)) {
    deliver(ready(0));
    out.forget();
  }
  static model_queue::options options(uint32_t max_queued_rows, bool latency_given, duration margin) {
    auto o = paper_queue();
    o.max_queued_rows = max_queued_rows;
    o.latency_given = latency_given;
    o.margin = margin;
    return o;
  }
};

inline std::vector<uint64_t> ids(const batch_order& o) {
  std::vector<uint64_t> out;
  for (const auto& r : o.requests) out.push_back(r.id.value);
  return out;
}

}  // namespace troupe::test
