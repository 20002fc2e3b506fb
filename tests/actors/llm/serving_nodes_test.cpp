#include "actors/llm/serving_nodes.hpp"

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr node_id other_router{5}, engine_node{6};
constexpr time_point at_start{100s};
constexpr llm_id some_model{0}, other_model{1};

serving_nodes some_nodes() {
  return {{{some_model, worker_node}, {other_model, engine_node}, {some_model, engine_node}},
          {scheduler_node, other_router}};
}

}  // namespace

TEST_CASE("serving nodes: an engine is up with its node") {
  auto n = some_nodes();
  CHECK(n.engine_count() == 3);
  CHECK_FALSE(n.up(engine_id{1}));
  n.on_node_up(engine_node, {1});
  CHECK(n.up(engine_id{1}));
  CHECK(n.up(engine_id{2}));
  CHECK_FALSE(n.up(engine_id{0}));
  CHECK_FALSE(n.up(engine_id{3}));  // there is none
  CHECK_FALSE(n.up(no_engine));
  CHECK(n.any_engine_up(some_model));
  CHECK(n.any_engine_up(other_model));
  CHECK_FALSE(n.any_engine_up(llm_id{2}));
  CHECK(n.address_of(engine_id{2}) == address{engine_node, {}, role::llm_engine, 2});
  CHECK(n.engine(engine_id{1}).model == other_model);
}

TEST_CASE("serving nodes: only the incarnation that is up goes down") {
  auto n = some_nodes();
  CHECK_FALSE(n.on_node_down(worker_node, {1}));
  n.on_node_up(worker_node, {2});
  CHECK_FALSE(n.on_node_down(worker_node, {1}));
  CHECK(n.up(worker_node));
  CHECK(n.on_node_down(worker_node, {2}));
  CHECK_FALSE(n.up(worker_node));
  CHECK_FALSE(n.any_engine_up(some_model));
}

TEST_CASE("serving nodes: requests go to the first router that is up") {
  auto n = some_nodes();
  CHECK(n.router() == no_node);
  CHECK_FALSE(n.up(no_node));
  n.on_node_up(other_router, {1});
  CHECK(n.router() == other_router);
  n.on_node_up(scheduler_node, {1});
  CHECK(n.router() == scheduler_node);
  n.on_node_down(scheduler_node, {1});
  CHECK(n.router() == other_router);
  n.clear(at_start + 3s);
  CHECK(n.router() == no_node);
}

TEST_CASE("serving nodes: what served a model is expected back in the next incarnation, until it is up") {
  auto n = some_nodes();
  n.on_node_up(worker_node, {1});
  CHECK_FALSE(n.serves(some_model, at_start));  // without a router
  n.on_node_up(scheduler_node, {1});
  CHECK(n.serves(some_model, at_start));
  CHECK_FALSE(n.serves(other_model, at_start));
  n.clear(at_start + 3s);
  CHECK(n.serves(some_model, at_start));
  CHECK_FALSE(n.serves(other_model, at_start));
  CHECK(n.serves(some_model, at_start + 2999ms));
  CHECK_FALSE(n.serves(some_model, at_start + 3s));  // nobody has come back
  n.clear(at_start + 3s);                            // before anything is up
  n.on_node_up(worker_node, {2});
  CHECK(n.serves(some_model, at_start));
  n.on_node_up(scheduler_node, {2});
  n.on_node_down(worker_node, {2});
  CHECK_FALSE(n.serves(some_model, at_start));
}
