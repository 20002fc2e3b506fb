#include "policies/matchmaking/model_profiles.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "tests/policies/matchmaking/recording_matchmaking.hpp"

using namespace troupe;

namespace {

constexpr model_id model_0{0}, model_1{1};

/// Two models with an SLO of 50 ms in domain 0, a third one in domain 1.
struct profiled {
  explicit profiled(latency_model latency = {}) {
    model_spec m;
    m.slo = 50ms;
    m.latency = latency;
    m.max_batch = 64;
    m.weight = 2;
    o.models = {m, m, m};
    o.models[2].domain = 1;
    o.network = {1ms, 2ms};
    o.response = 4ms;
  }
  /// The profiles that were set since the last call.
  std::vector<std::pair<model_id, model_profile>> set() { return std::exchange(policy.profiles, {}); }
  deployment line(uint32_t model, deployment_state wanted = deployment_state::deployed) const {
    deployment d;
    d.model = model_id{model};
    d.wanted = wanted;
    d.definition = o.models[model];
    return d;
  }
  model_profiles::options o;
  test::recording_matchmaking policy;
};

slot_ready ready_with(uint32_t slot, std::vector<std::pair<uint32_t, latency_model>> models) {
  slot_ready s;
  s.slot = slot_id{slot};
  for (const auto& [id, l] : models) {
    auto& m = s.models.emplace_back();
    m.model = model_id{id};
    m.alpha = l.alpha;
    m.beta = l.beta;
  }
  return s;
}

}  // namespace

TEST_CASE("model_profiles: models of the domain are set at first, with the time between arrival and answer") {
  profiled p({1ms, 5ms});
  model_profiles m(p.o, p.policy);
  CHECK(m.places());
  const auto set = p.set();
  REQUIRE(set.size() == 2);
  CHECK(set[0].first == model_0);
  CHECK(set[1].first == model_1);
  // 50 less the answer's 4 and the network's 1 + 2
  CHECK(set[0].second == model_profile{{1ms, 5ms}, 43ms, 64, 2});
}

TEST_CASE("model_profiles: a model that is undeployed or moves away leaves, once") {
  profiled p({1ms, 5ms});
  model_profiles m(p.o, p.policy);
  p.set();
  auto gone = p.line(1, deployment_state::undeployed);
  SUBCASE("undeployed") {}
  SUBCASE("in another domain") {
    gone.wanted = deployment_state::deployed;
    gone.domain = 1;
  }
  m.on_change(gone);
  CHECK(p.set() == std::vector{std::pair{model_1, model_profile{}}});
  m.on_change(gone);
  CHECK(p.set().empty());
  m.on_change(p.line(1));
  REQUIRE(p.policy.profiles.size() == 1);
  CHECK(p.set()[0].second.max_rows == 64);
}

TEST_CASE("model_profiles: a model without a latency has the slowest measured one, by its parts") {
  profiled p;
  model_profiles m(p.o, p.policy);
  CHECK(p.set()[0].second.latency == latency_model{});
  m.on_slot_ready(ready_with(0, {{0, {1ms, 9ms}}}));
  CHECK(p.set()[0].second.latency == latency_model{1ms, 9ms});
  m.on_slot_ready(ready_with(1, {{0, {3ms, 5ms}}}));
  CHECK(p.set()[0].second.latency == latency_model{3ms, 9ms});
  SUBCASE("a slot that is gone counts no more") {
    m.forget(slot_id{1});
    CHECK(p.set()[0].second.latency == latency_model{1ms, 9ms});
    SUBCASE("but for the last one") {
      m.forget(slot_id{0});
      CHECK(p.set().empty());
    }
  }
  SUBCASE("a slot may lose the model") {
    m.on_slot_ready(ready_with(1, {}));
    CHECK(p.set()[0].second.latency == latency_model{1ms, 9ms});
  }
  SUBCASE("an unknown slot changes nothing") {
    m.forget(slot_id{7});
    CHECK(p.set().empty());
  }
}

TEST_CASE("model_profiles: measured latencies of a model that is yet to come are kept for it") {
  profiled p;
  model_profiles m(p.o, p.policy);
  p.set();
  m.on_slot_ready(ready_with(0, {{2, {1ms, 9ms}}}));
  CHECK(p.set().empty());
  auto line = p.line(2);
  m.on_change(line);  // it is in domain 0 now
  const auto set = p.set();
  REQUIRE(set.size() == 1);
  CHECK(set[0].first == model_id{2});
  CHECK(set[0].second.latency == latency_model{1ms, 9ms});
}

TEST_CASE("model_profiles: a given latency is not replaced by measured ones") {
  profiled p({1ms, 5ms});
  model_profiles m(p.o, p.policy);
  p.set();
  m.on_slot_ready(ready_with(0, {{0, {7ms, 9ms}}}));
  CHECK(p.set()[0].second.latency == latency_model{1ms, 5ms});
}

TEST_CASE("model_profiles: a policy that places no models gets no profiles") {
  test::recording_matchmaking policy;
  model_profiles m({}, policy);
  CHECK_FALSE(m.places());
  m.on_slot_ready(ready_with(0, {{0, {1ms, 9ms}}}));
  m.on_change(deployment{});
  m.forget(slot_id{0});
  CHECK(policy.profiles.empty());
}
