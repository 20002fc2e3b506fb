#include "policies/scaling/load_monitor.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

llm_spec monitored_model() {
  llm_spec m;
  m.prefill_chunk = 500;
  m.max_sequences = 10;
  m.loop.mode = autoscale_mode::apply;
  return m;
}

/// 10 ms a step, 1 ms a decode, 60 us a token: 500 tokens beside ten decodes take 50 ms.
measured_load busy_load() {
  measured_load l;
  l.arriving_per_s = 8'000;
  l.waiting_tokens = 4'000;
  l.uncomputed_tokens = 1'000;
  l.kv_tokens = 20'000;
  l.waiting = 8;
  l.running = 12;
  l.max_sequences = 10;
  l.max_kv_tokens = 16'000;
  l.steps = {10ms, 1ms, 60us};
  return l;
}

constexpr time_point begun{100s};

double prefill_demand(const load_monitor& m, time_point now) { return m.loads(now)[0].demand; }

}  // namespace

TEST_CASE("load monitor: an instance prefills chunks while all of its places decode") {
  CHECK(prefill_rate({10ms, 1ms, 60us}, 500, 10) == doctest::Approx(10'000));
  CHECK(prefill_rate({10ms, 1ms, 60us}, 500, 0) == doctest::Approx(12'500));
  CHECK(prefill_rate({}, 500, 10) == 0);
}

TEST_CASE("load monitor: each resource has its demand, its capacity and its bounds") {
  load_monitor m(monitored_model());
  m.learn(busy_load());
  const auto [prefill, kv, sequences] = m.loads(begun);
  CHECK(prefill.demand == doctest::Approx(9'000));  // 5,000 wait, for 5 s
  CHECK(prefill.of_instance == doctest::Approx(10'000));
  CHECK(prefill.bounds == scale_bounds{0.5, 0.7});
  CHECK(kv.demand == 24'000);
  CHECK(kv.of_instance == 16'000);
  CHECK(kv.bounds == scale_bounds{0.75, 0.95});
  CHECK(sequences.demand == 20);
  CHECK(sequences.of_instance == 10);
  CHECK(instances_for(prefill) == instance_range{2, 2});
  CHECK(instances_for(kv) == instance_range{2, 2});
  CHECK(instances_for(sequences) == instance_range{3, 3});
}

TEST_CASE("load monitor: what waits counts for one phase of a model that is disaggregated") {
  auto spec = monitored_model();
  spec.prefill_instances = spec.decode_instances = 1;
  load_monitor m(spec);
  m.learn(busy_load());
  const auto to_prefill = m.loads(begun);
  CHECK(to_prefill[0].demand == doctest::Approx(9'000));
  CHECK(to_prefill[0].of_instance == doctest::Approx(12'500));  // no sequence decodes beside it
  CHECK(to_prefill[1].demand == 20'000);
  CHECK(to_prefill[2].demand == 12);
  auto full = busy_load();
  full.decode_full = true;
  m.learn(full);
  const auto to_decode = m.loads(begun);
  CHECK(to_decode[0].demand == doctest::Approx(8'200));
  CHECK(to_decode[1].demand == 24'000);
  CHECK(to_decode[2].demand == 20);
}

TEST_CASE("load monitor: what waits may take as long as instances load") {
  load_monitor m(monitored_model());
  m.learn(busy_load());
  m.learn_loading(true, begun);
  CHECK(prefill_demand(m, begun + 1s) == doctest::Approx(9'000));
  CHECK(prefill_demand(m, begun + 10s) == doctest::Approx(8'500));
  m.learn_loading(true, begun + 10s);
  m.learn_loading(false, begun + 20s);
  CHECK(prefill_demand(m, begun + 90s) == doctest::Approx(8'250));
  m.learn_loading(true, begun + 100s);
  CHECK(prefill_demand(m, begun + 101s) == doctest::Approx(8'250));
  m.learn_loading(false, begun + 101s);
  m.learn_loading(false, begun + 200s);
  CHECK(prefill_demand(m, begun + 200s) == doctest::Approx(9'000));
}

TEST_CASE("load monitor: the capacity of an instance is remembered while none serves") {
  load_monitor m(monitored_model());
  CHECK_FALSE(instances_for({1, m.loads(begun)[0].of_instance, {}}));
  m.learn(busy_load());
  measured_load none;
  none.arriving_per_s = 100;
  m.learn(none);
  const auto [prefill, kv, sequences] = m.loads(begun);
  CHECK(prefill.demand == 100);
  CHECK(prefill.of_instance == doctest::Approx(10'000));
  CHECK(kv.of_instance == 16'000);
  CHECK(sequences.of_instance == 10);
}
