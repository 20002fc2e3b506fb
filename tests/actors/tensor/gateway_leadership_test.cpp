// A gateway when the leader changes.
#include <map>

#include "tests/actors/leaders.hpp"
#include "tests/actors/tensor/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct gateway_of_line : gateway_stage {
  explicit gateway_of_line(size_t max_in_flight = 100) : gateway_stage(line_options(max_in_flight)) {}
  static gateway::options line_options(size_t max_in_flight) {
    auto o = options(max_in_flight);
    o.leader_candidates = {scheduler_node, standby_node};
    return o;
  }
  void both_up() {
    deliver(node_up{standby_node, standby_incarnation});
    deliver(first);
  }
  std::vector<uint64_t> submitted_to(node_id node) {
    std::vector<uint64_t> ids;
    for (const auto& [to, s] : out.take_addressed<submit>()) {
      CHECK(to.node == node);
      for (const auto& r : s.requests) ids.push_back(r.id.value);
    }
    return ids;
  }
};

using id_list = std::vector<uint64_t>;

}  // namespace

TEST_CASE("leadership, gateway: requests before the first leader wait for it") {
  gateway_of_line g;
  g.arrive(1);
  CHECK(g.open(1));
  CHECK(g.submitted_to(scheduler_node).empty());
  g.both_up();
  CHECK(g.submitted_to(scheduler_node) == id_list{1});
  g.arrive(2);
  CHECK(g.submitted_to(scheduler_node) == id_list{2});
}

TEST_CASE(
    "leadership, gateway: a new scheduler gets all requests without an outcome, and the old one is ignored") {
  gateway_of_line g;
  g.both_up();
  for (uint64_t id = 1; id <= 4; ++id) g.arrive(id);
  g.complete(1);  // its output is being pulled
  g.drop(2, drop_reason::late);
  g.out.forget();
  SUBCASE("after the death of the old one") {
    g.deliver(node_down{scheduler_node, {10}, true});
    g.arrive(5);
    CHECK(g.submitted_to(scheduler_node).empty());
    g.deliver(second);
    CHECK(g.submitted_to(standby_node) == id_list{3, 4, 5});
  }
  SUBCASE("while the old one is up") {
    g.deliver(second);
    CHECK(g.submitted_to(standby_node) == id_list{3, 4});
    g.drop(3, drop_reason::late);
    CHECK(g.open(3));
    g.deliver(completion{{1}, 1, {{request_id{3}, 1, failure::worker_lost, {}, {}}}}, the_queue);
    CHECK(g.open(3));
    g.deliver(first);  // an earlier term
    CHECK(g.submitted_to(standby_node).empty());
  }
  SUBCASE("before the new one is up") {
    g.deliver(node_down{standby_node, standby_incarnation, true});
    g.deliver(second);
    CHECK(g.submitted_to(standby_node).empty());
    g.deliver(node_up{standby_node, standby_incarnation});
    CHECK(g.submitted_to(standby_node) == id_list{3, 4});
  }
  g.deliver(drops{{{request_id{3}, 2, drop_reason::shed}}}, standby_queue);
  CHECK(g.outcome_of(3).reason == drop_reason::shed);
  g.complete(4);  // a worker's completion counts under any leader
  CHECK(g.open(4));
}

TEST_CASE("leadership, gateway: a new scheduler learns which requests may have crashed a worker") {
  gateway_of_line g;
  g.both_up();
  for (uint64_t id = 1; id <= 4; ++id) g.arrive(id);
  g.deliver(suspects{worker_loss::worker_crashed, {request_id{2}, request_id{4}, request_id{9}}}, the_queue);
  g.complete(4);  // a worker has outlived it
  g.out.forget();
  g.deliver(second);
  g.end_pull(pull_status::lost);  // 4 runs again
  std::map<uint64_t, worker_loss> told;
  for (const auto& s : g.out.take<submit>())
    for (const auto& r : s.requests) told[r.id.value] = r.last_loss;
  using enum worker_loss;
  CHECK(told == std::map<uint64_t, worker_loss>{{1, none}, {2, worker_crashed}, {3, none}, {4, none}});
}

TEST_CASE("leadership, gateway: without a candidate requests fail, and new ones are refused") {
  gateway_of_line g;
  g.both_up();
  g.arrive(1);
  g.deliver(node_down{standby_node, standby_incarnation, true});
  CHECK(g.open(1));
  g.deliver(node_down{scheduler_node, {10}, true});
  CHECK(g.outcome_of(1).error == failure::scheduler_lost);
  g.arrive(2);
  CHECK(g.outcome_of(2).reason == drop_reason::no_capacity);
}

TEST_CASE(
    "leadership, gateway: waiting requests go to a new scheduler in order, in parts that fit into frames") {
  constexpr size_t all = 10'000, max = 5'000;
  gateway_of_line g(all);
  for (uint64_t id = 1; id <= all; ++id) g.arrive(id);
  g.both_up();
  id_list heard;
  for (const auto& s : g.out.take<submit>()) {
    CHECK(s.requests.size() <= max);
    for (const auto& r : s.requests) heard.push_back(r.id.value);
  }
  CHECK(heard.size() == all);
  CHECK(std::is_sorted(heard.begin(), heard.end()));
}

TEST_CASE(
    "leadership, gateway: a disconnect in the turn of a takeover keeps the input until a worker answers") {
  gateway_of_line g;
  g.both_up();
  g.arrive(1);
  g.out.forget();
  g.note(second);
  g.deliver(client_gone{request_id{1}});
  CHECK(g.outcome_of(1).reason == drop_reason::cancelled);
  CHECK(g.submitted_to(standby_node).empty());
  CHECK(g.out.one<cancel>().id == request_id{1});
  CHECK(g.memory.in_use() == 1);
  g.complete(1);
  CHECK(g.memory.in_use() == 0);
}
