#include "tools/sim/handover_log.hpp"

#include <doctest/doctest.h>

#include <iterator>

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("hand-over log: a hand-over is under way until its lease is released, or a process of it ends") {
  const auto offer_of = [](uint32_t node, uint64_t generation) {
    kv_offer o;
    o.lease = {node_id{node}, {7}, memory_kind::host, 0, 0, generation};
    return o;
  };
  handover_log log;
  const auto& t = log.begin(offer_of(1, 5), node_id{2});
  CHECK(t.from == node_id{1});
  CHECK(t.to == node_id{2});
  log.begin(offer_of(1, 6), node_id{3});
  log.begin(offer_of(3, 5), node_id{2});
  const auto under_way = [&] { return std::distance(log.begin(), log.end()); };
  CHECK(under_way() == 3);
  log.end(offer_of(1, 5).lease);
  CHECK(under_way() == 2);
  log.end(offer_of(1, 5).lease);
  log.lose(node_id{2});
  CHECK(under_way() == 1);
  log.lose(node_id{3});
  CHECK(under_way() == 0);
}
