#include "policies/llm/routing_policy.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace troupe;

namespace {

engine_id chosen(std::string_view routing, bool with_adapter, const std::vector<engine_load>& loads) {
  const auto r = (*routing_policies().find(routing))();
  return loads[r->choose(with_adapter, loads)].id;
}
// id, sequences, adapters, has it, has an unused slot, has a free slot
const std::vector<engine_load> three{
    {{0}, 2, 2, true, false, false}, {{1}, 5, 1, false, true, true}, {{2}, 5, 2, false, false, false}};

}  // namespace

TEST_CASE("routing policy: punica takes the fullest, of equals the highest id") {
  CHECK(chosen("punica", true, three) == engine_id{2});
  CHECK(chosen("punica", false, {{{0}, 3, 0, false, true, true}, {{1}, 0, 0, false, true, true}}) ==
        engine_id{0});
}

TEST_CASE("routing policy: affinity joins the adapter, else takes a free slot, else crowds the least") {
  CHECK(chosen("affinity", true, three) == engine_id{0});
  const std::vector<engine_load> nowhere{{{0}, 2, 1, false, true, true},
                                         {{1}, 3, 1, false, true, true},
                                         {{2}, 7, 1, false, true, false},
                                         {{3}, 9, 2, false, false, false}};
  CHECK(chosen("affinity", true, nowhere) == engine_id{1});  // a free slot, and fuller than 0
  CHECK(chosen("affinity", true, {nowhere.begin() + 2, nowhere.end()}) == engine_id{2});  // an unused one
  CHECK(chosen("affinity", false, nowhere) == engine_id{3});                              // as punica
  const std::vector<engine_load> no_slot{{{0}, 2, 4, false, false, false}, {{1}, 1, 3, false, false, false}};
  CHECK(chosen("affinity", true, no_slot) == engine_id{1});
}

TEST_CASE("routing policy: least_loaded and round_robin, to compare") {
  CHECK(chosen("least_loaded", true, three) == engine_id{0});
  const auto r = (*routing_policies().find("round_robin"))();
  std::vector<uint32_t> order;
  for (int i = 0; i < 4; ++i) order.push_back(three[r->choose(false, three)].id.value);
  CHECK(order == std::vector<uint32_t>{0, 1, 2, 0});
}

TEST_CASE("routing policy: prefix takes the engine that computes least, of about equals as affinity") {
  auto loads = three;
  loads[0].to_compute = 1000, loads[1].to_compute = 700, loads[2].to_compute = 900;
  CHECK(chosen("prefix", true, loads) == engine_id{1});
  loads[2].to_compute = 703;  // the same 64 tokens
  CHECK(chosen("prefix", false, loads) == engine_id{2});
  CHECK(chosen("prefix", true, three) == engine_id{0});
}
