#include "policies/cluster/deployment_status.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/small_deployments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

change_reply status(const small_deployments& d) { return status_of(d.line(), d.progress, d.cluster); }

}  // namespace

TEST_CASE("deployment_status: the first node that has not applied the line is named") {
  small_deployments d;
  d.apply_on(head_node);
  d.apply_on(right_node);
  CHECK(status(d).ok);
  CHECK_FALSE(status(d).complete);
  CHECK(status(d).detail == "model 'a' is being loaded by node 'left'");
  d.apply_on(left_node);
  CHECK(status(d).complete);
  CHECK(status(d).detail == "model 'a' is ready on every worker");
}

TEST_CASE("deployment_status: a failure comes with its node and reason") {
  small_deployments d;
  d.apply_on(left_node, first_model, "too big");
  CHECK_FALSE(status(d).ok);
  CHECK(status(d).detail == "node 'left' cannot load model 'a': too big");
}

TEST_CASE("deployment_status: a deployment without a worker that is up is not complete") {
  small_deployments d;
  d.apply_on_all();
  d.progress.down(left_node, an_incarnation);
  CHECK(status(d).ok);
  CHECK_FALSE(status(d).complete);
  CHECK(status(d).detail == "model 'a' waits for a worker; none is up");
}

TEST_CASE("deployment_status: an undeployment is complete once every node has released the model") {
  small_deployments d;
  d.table.undeploy("a");
  CHECK(status(d).revision == 1);
  CHECK(status(d).detail == "model 'a' accepts no new requests; node 'head' still serves accepted ones");
  d.apply_on_all();
  CHECK_FALSE(status(d).complete);
  CHECK(status(d).detail == "model 'a' accepts no new requests");
  d.table.retired(first_model);
  CHECK(status(d).detail == "model 'a' is being released by node 'head'");
  d.apply_on_all();
  CHECK(status(d).complete);
  CHECK(status(d).detail == "model 'a' is undeployed");
}

TEST_CASE("deployment_status: a move is complete after its last line") {
  small_deployments d;
  d.table.move("a", 1);
  d.apply_on_all();
  CHECK_FALSE(status(d).complete);
  CHECK(status(d).detail == "model 'a' is being moved");
  d.table.moved_on(first_model);
  d.table.moved_on(first_model);
  d.apply_on_all();
  CHECK(status(d).complete);
}

TEST_CASE("deployment_status: a refusal is neither ok nor complete") {
  const auto r = refused_change("no");
  CHECK_FALSE(r.ok);
  CHECK_FALSE(r.complete);
  CHECK(r.detail == "no");
}
