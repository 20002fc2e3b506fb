#include "policies/batching/dropped_requests.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr address gateway(uint32_t node) { return {node_id{node}, {1}, role::gateway, 0}; }

request request_of(uint64_t id, uint32_t gateway_node) {
  request r;
  r.id = request_id{id};
  r.gateway = gateway(gateway_node);
  return r;
}

}  // namespace

TEST_CASE("dropped_requests: one message a gateway, in the order of the first drops") {
  dropped_requests d;
  d.add(request_of(1, 2), drop_reason::late);
  d.add(request_of(2, 1), drop_reason::shed);
  d.add(request_of(3, 2), drop_reason::late);
  std::vector<std::pair<address, drops>> sent;
  const auto send = [&](const address& to, drops list) { sent.emplace_back(to, std::move(list)); };
  d.flush(send);
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].first == gateway(2));
  CHECK(sent[0].second.requests == std::vector<dropped_request>{{request_id{1}, 1, drop_reason::late},
                                                                {request_id{3}, 1, drop_reason::late}});
  CHECK(sent[1].first == gateway(1));
  d.flush(send);
  CHECK(sent.size() == 2);
}

TEST_CASE("dropped_requests: counts grow with and without a gateway to notify") {
  dropped_requests d;
  d.add(request_of(1, 1), drop_reason::late);
  d.forget();
  d.flush([](const address&, const drops&) { FAIL("nothing is pending"); });
  d.add(request_of(2, 1), drop_reason::late);
  CHECK(d.count(drop_reason::late) == 2);
  CHECK(d.count(drop_reason::shed) == 0);
}
