#include "tools/sim/shard_order_check.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace troupe;
using namespace troupe::sim;

namespace {

constexpr node_id first_pool{0}, worker{1};

struct shard_orders_stage {
  void deliver(actor_message m, uint64_t incarnation = 1) {
    check.delivered(worker, {{first_pool, {incarnation}, role::parameter_pool, 0},
                             {worker, {}, role::parameter_shard, 0},
                             std::move(m)});
  }
  size_t sends(actor_message m, uint32_t link = 0) {
    const auto before = broken.count();
    const envelope e{
        {worker, {1}, role::parameter_shard, 0}, {worker, {}, role::chain_link, link}, std::move(m)};
    check.sent(worker, {&e, 1});
    return broken.count() - before;
  }
  size_t reports(std::vector<uint32_t> held) {
    shard_inventory i{worker, 1000, {}, {}};
    for (const auto m : held) i.images.push_back({{m}, 4, 4, false, {}, 100});
    return sends(std::move(i));
  }

  duration now{};
  violations broken{now};
  shard_order_check check{broken};
};

}  // namespace

TEST_CASE("shard order check: the shard follows the latest order of the latest term") {
  shard_orders_stage s;
  s.deliver(place_copy{{3}, {0}, {4}});
  CHECK(s.check.source({0}, worker) == node_id{4});
  CHECK(s.sends(begin_link{{0}, {4}, 1}) == 0);
  CHECK(s.reports({0}) == 0);
  s.deliver(place_copy{{2}, {0}, {5}});
  CHECK(s.sends(begin_link{{0}, {5}, 2}) == 1);
  CHECK(s.broken.list().front().check == "term");
  s.deliver(place_copy{{3}, {0}, {5}});
  CHECK(s.sends(begin_link{{0}, {5}, 2}) == 0);
  CHECK(s.sends(begin_link{{1}, {5}, 2}, 1) == 1);  // another model
  CHECK(s.check.old_orders() == 1);
}

TEST_CASE("shard order check: orders of a former leader are void once the shard has heard of a new one") {
  shard_orders_stage s;
  s.deliver(place_copy{{3}, {0}, {4}});
  s.deliver(leadership{{5}, {2}, {9}});
  s.deliver(drop_copy{{3}, {0}});
  s.deliver(place_copy{{4}, {1}, {4}});
  CHECK(s.reports({0}) == 0);
  CHECK(s.reports({}) == 1);
  CHECK(s.reports({0, 1}) == 1);
  CHECK(s.check.old_orders() == 2);
  s.deliver(drop_copy{{5}, {0}});
  CHECK(s.reports({}) == 0);
}

TEST_CASE(
    "shard order check: orders of ended incarnations do not reach the shard, and a process begins empty") {
  shard_orders_stage s;
  s.deliver(node_down{first_pool, {1}}, 0);
  s.deliver(place_copy{{3}, {0}, {4}});
  CHECK(s.reports({}) == 0);
  CHECK_FALSE(s.check.source({0}, worker));
  s.deliver(place_copy{{3}, {0}, {4}}, 2);
  CHECK(s.reports({0}) == 0);
  s.check.ended(worker);
  s.deliver(place_copy{{1}, {1}, {4}}, 2);
  CHECK(s.reports({1}) == 0);
}

TEST_CASE("shard order check: a shard may carry out several orders in one turn, and only then") {
  shard_orders_stage s;
  s.deliver(place_copy{{3}, {0}, {4}});
  s.deliver(place_copy{{3}, {0}, {5}});
  const address shard{worker, {1}, role::parameter_shard, 0}, link{worker, {}, role::chain_link, 0};
  const std::vector<envelope> turn{{shard, link, begin_link{{0}, {4}, 1}},
                                   {shard, link, begin_link{{0}, {5}, 2}}};
  s.check.sent(worker, turn);
  CHECK(s.broken.count() == 0);
  CHECK(s.sends(begin_link{{0}, {4}, 3}) == 1);
  CHECK(s.sends(begin_link{{0}, {5}, 3}) == 0);
}
