// A parameter pool whose model has instances that prefill, and others that decode.
#include "tests/actors/scaling/pool_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct phased_pool : pool_stage {
  explicit phased_pool(bool standby = false) : pool_stage(standby) {
    cluster.llms[0].prefill_instances = cluster.llms[0].decode_instances = 1;
    cluster.llms[0].loop.mode = autoscale_mode::apply;
  }
  /// "1+2": of those that serve.
  std::string phases() const {
    CHECK(in_phase(instance_phase::both) == 0);
    return std::to_string(in_phase(instance_phase::prefill)) + "+" +
           std::to_string(in_phase(instance_phase::decode));
  }
};

}  // namespace

TEST_CASE("parameter pool: instances get their phases, and change them at once") {
  phased_pool s;
  s.start();
  s.run(1s);
  CHECK(s.phases() == "1+1");
  CHECK(s.state().wanted.at(0).prefill == 1);
  s.scale(4, false, 3);
  s.run(2s);
  CHECK(s.phases() == "3+1");
  s.scale(4, false, 1);
  const auto orders = s.run(100ms);
  CHECK(orders.find("serving") == std::string::npos);
  CHECK(orders.find("decode") != std::string::npos);
  CHECK(s.phases() == "1+3");
  s.scale(3, false, 1);  // one that decodes stops
  s.run(200ms);
  CHECK(s.phases() == "1+2");
  s.run(5s);
  CHECK(s.phases() == "1+2");
}

TEST_CASE("parameter pool: more to decode come from those that prefill, before others have loaded") {
  phased_pool s;
  s.start();
  s.run(1s);
  s.scale(3, false, 2);
  s.run(2s);
  REQUIRE(s.phases() == "2+1");
  s.scale(4, false, 2);
  s.run(100ms);
  CHECK(s.serving() == 3);
  CHECK(s.phases() == "1+2");
  s.run(2s);
  CHECK(s.phases() == "2+2");
}

TEST_CASE("parameter pool: phases of lost instances are given to others") {
  phased_pool s;
  s.start();
  s.run(1s);
  uint32_t prefills = 0;
  for (const auto& [n, w] : s.workers)
    if (w.stage == instance_stage::serving && w.phase == instance_phase::prefill) prefills = n;
  s.kill(prefills);
  s.run(2s);
  CHECK(s.phases() == "1+1");
}

TEST_CASE("parameter pool: a new leader keeps the phases that there are") {
  phased_pool s(true);
  s.deliver(node_up{scheduler_node, {10}});
  for (uint32_t n = 1; n <= 4; ++n) s.bring_up(n);
  s.lead(1);
  s.run(1s);
  s.scale(4, false, 3);
  s.run(2s);
  REQUIRE(s.phases() == "3+1");
  s.deliver(leadership{{2}, pool_standby, {20}});
  s.lead(3);
  s.run(3s);
  CHECK(s.phases() == "3+1");
  CHECK(s.state().wanted.at(0).prefill == 3);
}

TEST_CASE("parameter pool: numbers of phases that make no sense are refused") {
  phased_pool s;
  s.start();
  s.run(1s);
  CHECK(s.refusal("m", 3).ends_with(
      "'m' is disaggregated: of 3 instances at least one prefills, and one decodes"));
  CHECK(s.refusal("m", 3, 3).ends_with("at least one prefills, and one decodes"));
  pool_stage whole;
  whole.start();
  whole.run(1s);
  CHECK(whole.refusal("m", 3, 1).ends_with("'m' is not disaggregated: its instances do not prefill only"));
}
