#include "actors/tensor/batch_answers.hpp"

#include <doctest/doctest.h>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address gateway_of_other_node{node_id{5}, {7}, role::gateway, 0};

/// A request for each gateway, in this order, with an output each.
ordered_batch batch_for(std::vector<address> gateways) {
  ordered_batch b;
  b.order.batch = batch_id{3};
  b.order.exec_at = at(5);
  b.order.ordered_at = at(1);
  b.received_at = at(2);
  b.inputs_at = at(4);
  b.parts.resize(gateways.size());
  for (uint64_t i = 0; i < gateways.size(); ++i) {
    request r;
    r.id = request_id{i + 1};
    r.gateway = gateways[i];
    r.attempt = 2;
    b.order.requests.push_back(r);
    b.parts[i].output.region = {worker_node, {1}, memory_kind::host, i + 1, 8, i + 1};
  }
  return b;
}

batch_outcome outcome_with(std::vector<std::string> errors = {}) {
  batch_outcome o;
  o.errors = std::move(errors);
  o.started_at = at(5);
  o.finished_at = at(9);
  return o;
}

peers_up both_up() {
  peers_up up;
  up.add(node_up{gateway_node, the_gateway.incarnation});
  up.add(node_up{gateway_of_other_node.node, gateway_of_other_node.incarnation});
  return up;
}

}  // namespace

TEST_CASE("batch answers: each gateway gets its own requests, with the rows of the whole batch") {
  auto b = batch_for({the_gateway, gateway_of_other_node, the_gateway});
  const auto [done, replies] = answers_to(b, outcome_with(), both_up());
  CHECK(done.batch == batch_id{3});
  CHECK(done.rows == 3);
  CHECK(done.started_at == at(5));
  CHECK(done.finished_at == at(9));
  REQUIRE(replies.size() == 2);
  CHECK(replies[0].first == the_gateway);
  CHECK(replies[1].first == gateway_of_other_node);
  const auto& results = replies[0].second.results;
  REQUIRE(results.size() == 2);
  CHECK(results[0].id == request_id{1});
  CHECK(results[1].id == request_id{3});
  CHECK(results[1].attempt == 2);
  CHECK(results[1].output == b.parts[2].output.region);
  CHECK(replies[1].second.batch_rows == 3);
  CHECK(replies[1].second.times == batch_times{at(5), at(1), at(2), at(4), at(5), at(9)});
}

TEST_CASE("batch answers: errors of the device are assigned to the parts that ran") {
  auto b = batch_for({the_gateway, the_gateway, the_gateway});
  b.parts[0].error = failure::stale_memory;
  const auto [done, replies] = answers_to(b, outcome_with({"", "an index is out of range"}), both_up());
  CHECK(done.rows == 1);
  CHECK(done.stale == std::vector{request_id{1}});
  const auto& results = replies.at(0).second.results;
  CHECK(results[0].error == failure::stale_memory);
  CHECK(results[0].detail.empty());
  CHECK_FALSE(results[0].output);
  CHECK(results[1].error == failure::none);
  CHECK(results[2].error == failure::device_error);
  CHECK(results[2].detail == "an index is out of range");
  CHECK_FALSE(results[2].output);
}

TEST_CASE("batch answers: a gateway that is not up is offered no output, though the batch ran") {
  auto b = batch_for({the_gateway, gateway_of_other_node});
  peers_up up;
  up.add(node_up{gateway_node, {the_gateway.incarnation.value + 1}});  // its next incarnation
  up.add(node_up{gateway_of_other_node.node, gateway_of_other_node.incarnation});
  const auto [done, replies] = answers_to(b, outcome_with(), up);
  CHECK(done.rows == 2);
  CHECK(b.parts[0].error == failure::stale_memory);
  CHECK(done.stale == std::vector{request_id{1}});  // its queue tells it, too
  CHECK_FALSE(replies.at(0).second.results.at(0).output);
  CHECK(b.parts[1].error == failure::none);
}
