// Models that move to another scheduling domain.
#include "tests/actors/cluster/deployers.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// "resnet" is served in the west, by the worker on the left.
struct apart final : deployers {
  apart() : deployers(true, "eager", true) {
    ask(head, deploy{0, "resnet", {}});
    end_load(left);
    idle(right);  // it has no such model
  }
  /// Nothing of the model runs in the domain that it leaves.
  void queue_left() {
    const auto line = line_on(head);
    deliver(head, model_idle{line.model, line.revision, {head, {1}, role::model_queue, line.model.value}});
  }
};

}  // namespace

TEST_CASE(
    "deployer: a move loads the model in the new domain, moves its queue, and releases it in the old one") {
  apart all;
  CHECK(all.models_on(left) == 1);
  CHECK(all.loads(right) == 0);
  const auto reply = all.ask(head, move_model{0, "resnet", "east", 10s});
  CHECK(all.line_on(left).joining == 1);
  CHECK(all.line_on(left).domain == 0);
  all.end_load(right);
  CHECK(all.models_on(left) == 1);
  CHECK(all.models_on(right) == 1);
  CHECK(all.line_on(head).domain == 1);
  CHECK(all.line_on(head).leaving == 0);
  CHECK_FALSE(*reply);
  all.queue_left();
  CHECK_FALSE(all.line_on(head).moves());
  CHECK(all.models_on(left) == 0);
  CHECK_FALSE(*reply);
  all.idle(left);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
  const auto again = all.ask(head, move_model{0, "resnet", "east", 10s});
  REQUIRE(*again);
  CHECK((*again)->complete);
}

TEST_CASE("deployer: a model that the new domain cannot load stays where it was") {
  apart all;
  const auto reply = all.ask(head, move_model{0, "resnet", "east", 10s});
  all.end_load(right, "out of memory");
  CHECK(all.line_on(head).domain == 0);
  CHECK_FALSE(all.line_on(head).moves());
  CHECK(all.models_on(left) == 1);
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "model 'resnet' stays in its domain; the reason is in the log of node 'head'");
}

TEST_CASE("deployer: a move to an unknown domain or of an unknown model is refused with the reason") {
  apart all;
  const auto nowhere = all.ask(left, move_model{0, "resnet", "north", {}});
  REQUIRE(*nowhere);
  CHECK((*nowhere)->detail.starts_with("the cluster has no domain 'north'; "));
  const auto nothing = all.ask(head, move_model{0, "vgg", "east", {}});
  REQUIRE(*nothing);
  CHECK((*nothing)->detail == "no model 'vgg' is deployed");
}

TEST_CASE("deployer: a model that is undeployed while it moves is released on all nodes") {
  apart all;
  all.ask(head, move_model{0, "resnet", "east", {}});
  all.end_load(right);
  all.queue_left();
  all.ask(head, undeploy{0, "resnet", {}});
  all.idle(head);
  CHECK(all.line_on(head).wanted == deployment_state::undeployed);
  CHECK(all.models_on(left) == 0);
  CHECK(all.models_on(right) == 0);
}
