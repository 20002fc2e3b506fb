// The worked example of Symphony §3.3 (Figure 4) through the actors: ℓ(b) = b + 5, SLO 12, 3 GPUs, R_i
// arrives at 0.75 · (i - 1); a unit is 1 ms.
#include "actors/runtime/actor_group.hpp"
#include "actors/tensor/gpu_worker.hpp"
#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/rank_arbiter.hpp"
#include "gpu/device/emulated_device.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address on_one_node(role kind, uint32_t index = 0) { return {node_id{0}, {10}, kind, index}; }

/// Sends R1, R2, ... and keeps what comes back, with the time.
class clients final : public actor {
 public:
  clients(address self, outbox& out, uint64_t count) : actor(self, out), count_(count) {}
  void on(envelope& e, time_point now) override {
    dispatch(e.body, overloaded{[&](node_up&) { next_at_ = now; },
                                [&](completion& c) { finished.emplace_back(now, std::move(c)); },
                                [&](drops& d) { dropped += d.requests.size(); }});
  }
  void on_time(time_point now) override {
    if (now < next_at_) return;
    request r;
    r.id = request_id{next_++};
    r.gateway = self_;
    r.deadline = now + 12ms;
    send(on_one_node(role::model_queue), submit{{r}});
    next_at_ = next_ > count_ ? never : now + 750us;
  }
  time_point next_wakeup() const override { return next_at_; }
  void report(std::vector<metric>&) const override {}

  std::vector<std::pair<time_point, completion>> finished;
  size_t dropped = 0;

 private:
  const uint64_t count_;
  uint64_t next_ = 1;
  time_point next_at_ = never;
};

class no_way_out final : public message_sink {
 public:
  void carry(std::span<envelope>) override { FAIL("a message left the only group"); }
};

}  // namespace

TEST_CASE("Figure 4 through the actors: from R1-R4 at t = 2.25 on, a batch of four every 3") {
  no_way_out beyond;
  actor_group group(beyond);
  scripted_memory memory(node_id{0}, 0);  // requests without bytes need none
  auto& asking = group.add<clients>(on_one_node(role::gateway), 60);
  group.add<rank_arbiter>(on_one_node(role::rank_arbiter), make_matchmaking("lowest_id"));
  batching_parameters p;
  p.latency = {1ms, 5ms};
  p.slo = 12ms;
  p.slots = 3;
  model_queue::options o;
  o.arbiter = on_one_node(role::rank_arbiter);
  o.latency_given = true;
  group.add<model_queue>(on_one_node(role::model_queue), o, make_batching("deferred", "timeout", p));
  std::vector<emulated_device> gpus(3);
  message_batch start;
  for (uint32_t i = 0; i < 3; ++i) {
    auto s = ready(i, 10, 0, 0);
    s.worker = on_one_node(role::gpu_worker, i);
    model_source source;
    source.signature = s.models[0].signature;
    source.latency = p.latency;
    gpus[i].load(model_id{0}, source);
    group.add<gpu_worker>(s.worker, gpu_worker::options{slot_id{i}}, gpus[i], memory);
    start.push_back({{}, {}, s});
  }
  start.push_back({{}, {}, node_up{node_id{0}, {10}}});

  group.turn(start, at(0));
  message_batch nothing;
  while (group.next_wakeup() != never) group.turn(nothing, group.next_wakeup());

  CHECK(asking.dropped == 0);
  REQUIRE(asking.finished.size() == 15);
  for (size_t i = 0; i < 15; ++i) {
    CAPTURE(i);
    const auto& [when, batch] = asking.finished[i];
    CHECK(when == at(2.25 + 3.0 * static_cast<double>(i) + 9));
    REQUIRE(batch.results.size() == 4);
    CHECK(batch.results.front().id.value == 4 * i + 1);
    CHECK(batch.results.back().id.value == 4 * i + 4);
  }
  CHECK(group.unfinished() == 0);
}
