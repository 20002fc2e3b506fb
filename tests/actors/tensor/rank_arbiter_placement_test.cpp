// An arbiter whose matchmaking places models: inputs of the policy, and backends for the queues.
#include <algorithm>

#include "policies/registry/matchmakings.hpp"
#include "tests/actors/tensor/arbiter_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr model_id first_model{0}, second_model{1};

/// Two models of ℓ(b) = b + 5 and SLO 50, on slots that have both; a unit is 1 ms.
struct placement_stage : stage<rank_arbiter> {
  explicit placement_stage(rank_arbiter::options o = options())
      : stage(the_arbiter, make_matchmaking("nexus"), o) {
    deliver(has_both(0));
    deliver(has_both(1, 20));
  }
  static rank_arbiter::options options() {
    rank_arbiter::options o;
    model_spec m;
    m.slo = 50ms;
    m.latency = {1ms, 5ms};
    m.max_batch = 64;
    o.models = {m, m};
    o.network = {1ms, 0ms};
    o.response = 1ms;
    return o;
  }
  static slot_ready has_both(uint32_t slot, uint64_t incarnation = 12) {
    auto s = ready(slot, incarnation);
    s.models.push_back(s.models[0]);
    s.models.back().model = second_model;
    return s;
  }
  /// The slots in the latest backends of the model; removes these messages.
  std::vector<slot_id> backends_of(model_id m) {
    for (auto& [to, b] : out.take_addressed<backends>()) said_[to.index] = b;
    std::vector<slot_id> slots;
    for (const auto& b : said_[m.value].of) slots.push_back(b.slot);
    return slots;
  }
  void offer(model_id m, std::vector<slot_id> slots) {
    deliver(candidate{m, ++sequence_, 1, now, at(1000), 1ms, false, 0, std::move(slots)}, queue_of(m.value));
  }
  deployment line(model_id m) const {
    deployment d;
    d.model = m;
    d.wanted = deployment_state::deployed;
    d.definition = options().models[m.value];
    return d;
  }

 private:
  std::map<uint32_t, backends> said_;
  uint64_t sequence_ = 0;
};

}  // namespace

TEST_CASE("rank_arbiter: queues get the slots of their models, and grants of these only") {
  placement_stage a;
  const auto of_first = a.backends_of(first_model), of_second = a.backends_of(second_model);
  CHECK_FALSE(of_first.empty());
  CHECK_FALSE(of_second.empty());
  std::set<slot_id> all(of_first.begin(), of_first.end());
  all.insert(of_second.begin(), of_second.end());
  CHECK(all.size() == 2);

  a.offer(first_model, {of_first.back()});
  const auto grants = a.out.take_addressed<grant>();
  REQUIRE(grants.size() == 1);
  CHECK(grants[0].first == queue_of(first_model.value));
  CHECK(grants[0].second.slot == of_first.back());
}

TEST_CASE("rank_arbiter: slots that die, leave or go out of service lead to a new plan at once") {
  placement_stage a;
  CHECK_FALSE(a.backends_of(first_model).empty());
  a.deliver(node_down{worker_node, {12}});
  CHECK(a.backends_of(first_model) == std::vector{slot_id{1}});
  CHECK(a.backends_of(second_model) == std::vector{slot_id{1}});
  a.deliver(node_leaving{worker_node, {20}});
  CHECK(a.backends_of(first_model).empty());
  a.deliver(placement_stage::has_both(0, 13));
  CHECK(a.backends_of(first_model) == std::vector{slot_id{0}});
  const auto reply = a.actor.on_command({1, take_slot_out::type_name, R"({"slot": 0})"}, a.now);
  CHECK(reply.ok);
  a.actor.on_time(a.now);
  CHECK(a.backends_of(first_model).empty());
}

TEST_CASE("rank_arbiter: undeployed models and moves to another domain lead to a new plan at once") {
  placement_stage a;
  auto line = a.line(second_model);
  line.domain = 1;
  a.backends_of(second_model);
  a.deliver(model_change{line});
  CHECK(a.backends_of(second_model).empty());
  CHECK(a.backends_of(first_model).size() == 2);
  line.domain = 0;
  a.deliver(model_change{line});
  CHECK_FALSE(a.backends_of(second_model).empty());
  line.wanted = deployment_state::undeployed;
  a.deliver(model_change{line});
  CHECK(a.backends_of(second_model).empty());
}

TEST_CASE("rank_arbiter: a queue that uses old backends gets the new ones again") {
  placement_stage a;
  a.backends_of(first_model);
  a.offer(first_model, {});
  const auto again = a.out.take_addressed<backends>();
  REQUIRE(again.size() == 1);
  CHECK(again[0].first.index == first_model.value);
  CHECK_FALSE(again[0].second.of.empty());
}

TEST_CASE("rank_arbiter: after an epoch the plan follows the load of the models") {
  placement_stage a;
  const auto weight = [&](model_id m) {
    double sum = 0;
    for (const auto& [to, b] : a.out.take_addressed<backends>())
      for (const auto& x : b.of)
        if (to.index == m.value) sum += x.weight;
    return sum;
  };
  const auto before = weight(first_model);
  a.deliver(queue_load{9000, 500}, queue_of(first_model.value));
  a.deliver(queue_load{100, 0}, queue_of(second_model.value));
  a.run_until(at(9'000));
  CHECK(a.out.take<backends>().empty());
  a.run_until(at(10'000));
  CHECK(weight(first_model) > 1.2 * before);
}

TEST_CASE("rank_arbiter: the plan uses the slowest measured latency where the definition has none") {
  auto o = placement_stage::options();
  for (auto& m : o.models) m.latency = {};
  placement_stage slow(o);
  const auto batch = [](placement_stage& a) {
    uint32_t max = 0;
    for (const auto& b : a.out.take<backends>())
      for (const auto& x : b.of) max = std::max(max, x.batch);
    return max;
  };
  CHECK(batch(slow) <= 19);  // 2 ℓ(19) = 48
  auto s = placement_stage::has_both(0);
  for (auto& m : s.models) m.alpha = 4ms;
  slow.deliver(s);
  CHECK(batch(slow) <= 4);  // 2 ℓ(4) = 42
}
