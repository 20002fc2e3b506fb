#include "policies/batching/in_flight_batches.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

in_flight_batch on_node(uint32_t node, uint64_t incarnation, std::vector<uint32_t> handles = {}) {
  in_flight_batch b;
  b.worker = {node_id{node}, {incarnation}, role::gpu_worker, node};
  b.handles = std::move(handles);
  return b;
}

}  // namespace

TEST_CASE("in_flight_batches: a batch is taken once") {
  in_flight_batches all;
  all.add({7}, on_node(1, 1, {3}));
  CHECK(all.contains({7}));
  const auto b = all.take({7});
  REQUIRE(b);
  CHECK(b->handles == std::vector<uint32_t>{3});
  CHECK_FALSE(all.take({7}));
  CHECK(all.size() == 0);
}

TEST_CASE("in_flight_batches: the batches of a node's incarnation are taken in the order of their ids") {
  in_flight_batches all;
  for (const uint64_t id : {9, 2, 300, 5}) all.add({id}, on_node(1, 1));
  all.add({4}, on_node(1, 2));
  all.add({6}, on_node(2, 1));
  std::vector<uint64_t> ids;
  for (const auto& [id, b] : all.take_of(node_id{1}, {1})) ids.push_back(id.value);
  CHECK(ids == std::vector<uint64_t>{2, 5, 9, 300});
  CHECK(all.size() == 2);
  CHECK(all.take_of(node_id{1}, {1}).empty());
}

TEST_CASE("in_flight_batches: handles and workers of all batches") {
  in_flight_batches all;
  all.add({1}, on_node(1, 1, {0, 3}));
  all.add({2}, on_node(2, 1, {2}));
  CHECK(all.running(5) == std::vector<bool>{true, false, true, true, false});
  CHECK(all.runs(3));
  CHECK_FALSE(all.runs(1));
  CHECK(all.any_worker([](const address& w) { return w.index == 2; }));
  CHECK_FALSE(all.any_worker([](const address& w) { return w.index == 3; }));
  std::vector<node_id> nodes{node_id{9}};
  all.append_nodes(nodes);
  CHECK(nodes.size() == 3);
  all.clear();
  CHECK(all.size() == 0);
}
