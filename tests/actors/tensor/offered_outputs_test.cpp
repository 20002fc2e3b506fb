#include "actors/tensor/offered_outputs.hpp"

#include <doctest/doctest.h>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address next_gateway_incarnation{gateway_node, {12}, role::gateway, 0};

struct outputs_stage {
  scripted_memory memory{worker_node};
  offered_outputs offered{memory};
  region_ref offer_to(const address& gateway) {
    const auto region = memory.take(8)->region;
    offered.add(region, gateway);
    return region;
  }
};

}  // namespace

TEST_CASE("offered outputs: an output is kept until its gateway releases it") {
  outputs_stage o;
  const auto one = o.offer_to(the_gateway), two = o.offer_to(the_gateway);
  o.offered.on_release(the_gateway, {{one}});
  CHECK(o.offered.size() == 1);
  CHECK(o.memory.in_use() == 1);
  o.offered.on_release(the_gateway, {{one, two}});  // the first one again
  CHECK(o.offered.size() == 0);
  CHECK(o.memory.in_use() == 0);
}

TEST_CASE("offered outputs: only outputs of the incarnation that is down are given back") {
  outputs_stage o;
  o.offer_to(the_gateway);
  o.offer_to(the_gateway);
  o.offer_to(next_gateway_incarnation);
  o.offered.lose(gateway_node, the_gateway.incarnation);
  CHECK(o.offered.size() == 1);
  CHECK(o.memory.in_use() == 1);
  CHECK(o.memory.given_back_again == 0);
  o.offered.lose(scheduler_node, next_gateway_incarnation.incarnation);
  CHECK(o.offered.size() == 1);
}

TEST_CASE("offered outputs: all are given back at once") {
  outputs_stage o;
  o.offer_to(the_gateway);
  o.offer_to(next_gateway_incarnation);
  o.offered.clear();
  CHECK(o.offered.size() == 0);
  CHECK(o.memory.in_use() == 0);
}
