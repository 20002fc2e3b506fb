#include "actors/cluster/placer.hpp"

#include "messages/cluster/reserved_bytes.hpp"
#include "messages/wire/json.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address the_placer{scheduler_node, {10}, role::placer, 0};

/// Four models, all in the first of two domains with a slot each.
cluster_spec all_on_the_left() {
  cluster_spec c;
  c.domains = {{"left", 0}, {"right", 0}};
  c.nodes.resize(3);
  for (uint32_t i : {1, 2}) {
    c.nodes[i].roles = {node_role::worker};
    c.nodes[i].domain = i - 1;
    c.slots.push_back({.node = node_id{i}, .memory_bytes = 1 << 20});
  }
  c.placer.epoch = 10s;
  c.placer.steps = 10'000;
  return c;
}

struct placer_stage {
  explicit placer_stage(cluster_spec c = all_on_the_left())
      : cluster(std::move(c)), driver(the_placer, cluster) {
    for (uint32_t i = 0; i < 4; ++i) change(i, 0);
    driver.run_until(at(0));
  }
  void change(uint32_t model, uint32_t domain, uint32_t joining = no_domain) {
    model_spec m;
    m.name = "m" + std::to_string(model);
    m.memory_bytes = 1000;
    driver.deliver(
        model_change{{1, model_id{model}, deployment_state::deployed, m, domain, joining, no_domain}});
  }
  /// Lets an epoch pass with these numbers of requests for the models.
  void epoch(std::vector<uint64_t> requests) {
    driver.run_until(driver.now + 10s);
    for (const auto& [to, q] : driver.out.take_addressed<query_received>()) {
      REQUIRE(to.kind == role::model_queue);
      received[to.index] += requests[to.index];
      driver.deliver(received_requests{q.token, received[to.index]});
    }
  }
  placer_state state() {
    const auto r = driver.actor.on_command({1, get_state::type_name, {}}, driver.now);
    REQUIRE(r.ok);
    return from_json<placer_state>(nlohmann::json::parse(r.body));
  }
  cluster_spec cluster;
  stage<placer> driver;
  std::array<uint64_t, 4> received{};
};

}  // namespace

TEST_CASE("placer: it measures for an epoch, then moves one model after the other") {
  placer_stage p;
  p.epoch({0, 0, 0, 0});
  CHECK(p.driver.out.take<move_model>().empty());  // nothing was measured
  p.epoch({10, 20, 30, 40});
  const auto first = p.driver.out.take_addressed<move_model>();
  REQUIRE(first.size() == 1);
  CHECK(first[0].first == address{scheduler_node, {}, role::deployer, 0});
  CHECK(first[0].second.domain == "right");
  CHECK(p.state().rate_imbalance == doctest::Approx(2));
  CHECK(p.state().planned == 1);
  const auto model = static_cast<uint32_t>(first[0].second.name.back() - '0');
  p.change(model, 0, 1);
  CHECK(p.driver.out.take<move_model>().empty());  // the first is still under way
  p.change(model, 1);
  CHECK(p.driver.out.one<move_model>().name != first[0].second.name);
  CHECK(p.state().moves == 2);
}

TEST_CASE("placer: it moves at most max_moves models per epoch") {
  auto c = all_on_the_left();
  c.placer.max_moves = 1;
  placer_stage p(c);
  p.epoch({0, 0, 0, 0});
  p.epoch({10, 20, 30, 40});
  CHECK(p.driver.out.take<move_model>().size() == 1);
  CHECK(p.state().planned == 0);
}

TEST_CASE("placer: balanced load and small gains cause no moves") {
  placer_stage p;
  for (uint32_t i : {0, 3}) p.change(i, 1);
  p.epoch({0, 0, 0, 0});
  p.epoch({10, 20, 30, 40});
  CHECK(p.driver.out.take<move_model>().empty());
  CHECK(p.state().epochs == 1);
  p.epoch({100, 200, 300, 406});  // the same but for a little
  CHECK(p.driver.out.take<move_model>().empty());
  CHECK(p.state().epochs == 2);
}

TEST_CASE("placer: it plans nothing during a move, and plans a failed move again") {
  placer_stage p;
  p.epoch({0, 0, 0, 0});
  p.epoch({10, 20, 30, 40});
  const auto first = p.driver.out.one<move_model>();
  const auto model = static_cast<uint32_t>(first.name.back() - '0');
  p.change(model, 0, 1);
  p.epoch({10, 20, 30, 40});
  CHECK(p.state().epochs == 1);
  p.change(model, 0);  // it could not be moved
  CHECK(p.driver.out.take<move_model>().empty());
  p.epoch({10, 20, 30, 40});
  CHECK(p.state().epochs == 2);
  CHECK(p.driver.out.take<move_model>().size() == 1);
}

TEST_CASE("placer: it reports why it finds no partition") {
  auto c = all_on_the_left();
  for (auto& s : c.slots) s.memory_bytes = 500;
  placer_stage p(c);
  p.epoch({0, 0, 0, 0});
  p.epoch({10, 20, 30, 40});
  CHECK(p.driver.out.take<move_model>().empty());
  CHECK(p.state().problem == "model 'm0' alone needs 1000B, the largest device has 500B");
}

TEST_CASE("placer: part of a GPU's memory is reserved") {
  auto c = all_on_the_left();
  for (auto& s : c.slots) s.kind = device_kind::cuda, s.memory_bytes = reserved_bytes(s.kind) + 500;
  placer_stage p(c);
  p.epoch({0, 0, 0, 0});
  p.epoch({10, 20, 30, 40});
  CHECK(p.state().problem == "model 'm0' alone needs 1000B, the largest device has 500B");
}

TEST_CASE("placer: a missing answer of a queue delays the plan by an epoch") {
  placer_stage p;
  p.epoch({0, 0, 0, 0});
  p.driver.run_until(p.driver.now + 10s);
  p.driver.out.forget();  // no queue answers
  CHECK(p.state().epochs == 0);
  p.epoch({10, 20, 30, 40});
  CHECK(p.state().epochs == 1);
}

TEST_CASE("placer: an answer to a query of an earlier epoch, or to none, is ignored") {
  placer_stage p;
  for (uint32_t i : {0, 3}) p.change(i, 1);
  p.epoch({0, 0, 0, 0});
  p.driver.run_until(p.driver.now + 10s);
  const auto late = p.driver.out.take<query_received>();
  REQUIRE(late.size() == 4);
  p.epoch({10, 20, 30, 40});
  CHECK(p.state().epochs == 1);
  for (const auto& q : late) p.driver.deliver(received_requests{q.token, 1});
  p.driver.deliver(received_requests{1000, 1});
  CHECK(p.state().epochs == 1);
  p.epoch({10, 20, 30, 40});
  CHECK(p.state().epochs == 2);
  CHECK(p.driver.out.take<move_model>().empty());
}

TEST_CASE("placer: the count of a restarted queue starts at zero") {
  placer_stage p;
  for (uint32_t i : {0, 3}) p.change(i, 1);
  p.epoch({0, 0, 0, 0});
  p.epoch({10, 20, 30, 40});
  p.received[0] = 0;
  p.received[1] = 0;
  p.epoch({10, 20, 30, 40});
  CHECK(p.state().epochs == 2);
  CHECK(p.driver.out.take<move_model>().empty());
}
