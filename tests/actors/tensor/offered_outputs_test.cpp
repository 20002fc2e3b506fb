#include "actors/tensor/offered_outputs.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address next_gateway_incarnation{gateway_node, {12}, role::gateway, 0};

struct outputs_stage {
  scripted_memory memory{worker_node};
  offered_outputs offered{memory};
  uint64_t requests = 0;
  region_ref offer_to(const address& gateway) {
    const auto region = memory.take(8)->region;
    request asked;
    asked.id = request_id{++requests};
    asked.attempt = 3;
    asked.gateway = gateway;
    offered.add(region, asked, the_queue);
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
  const auto lost = o.offered.lose(gateway_node, the_gateway.incarnation);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].first == the_queue);
  CHECK(lost[0].second.results.size() == 2);
  for (const auto& r : lost[0].second.results) {
    CHECK(r.id != request_id{3});
    CHECK(r.attempt == 3);
    CHECK(r.error == failure::stale_memory);
    CHECK_FALSE(r.output);
  }
  CHECK(o.offered.size() == 1);
  CHECK(o.memory.in_use() == 1);
  CHECK(o.memory.given_back_again == 0);
  CHECK(o.offered.lose(scheduler_node, next_gateway_incarnation.incarnation).empty());
  CHECK(o.offered.size() == 1);
}

TEST_CASE("offered outputs: each queue learns of its own results, in messages that fit into a frame") {
  outputs_stage o;
  constexpr size_t many = 5000;
  request asked;
  asked.gateway = the_gateway;
  for (size_t i = 0; i < many; ++i) {
    auto queue = the_queue;
    queue.index = i % 100 == 0 ? 1 : 0;
    asked.id = request_id{i};
    o.offered.add({worker_node, {}, memory_kind::host, 0, 8, i + 1}, asked, queue);
  }
  std::map<uint32_t, std::vector<size_t>> sizes;
  for (const auto& [queue, lost] : o.offered.lose(gateway_node, the_gateway.incarnation))
    sizes[queue.index].push_back(lost.results.size());
  for (auto& [_, s] : sizes) std::ranges::sort(s);
  CHECK(sizes[0] == std::vector<size_t>{854, 4096});
  CHECK(sizes[1] == std::vector<size_t>{50});
}

TEST_CASE("offered outputs: all are given back at once") {
  outputs_stage o;
  o.offer_to(the_gateway);
  o.offer_to(next_gateway_incarnation);
  o.offered.clear();
  CHECK(o.offered.size() == 0);
  CHECK(o.memory.in_use() == 0);
}
