#include "policies/registry/batchings.hpp"
#include "tests/actors/cluster/deployers.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("deployer: a deployment ends once every worker has the model") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  CHECK(all.line_on(head).definition.name == "resnet");
  CHECK_FALSE(*reply);
  all.end_load(left);
  CHECK_FALSE(*reply);
  all.end_load(right);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
  CHECK((*reply)->detail == "model 'resnet' is ready on every worker");
  CHECK(all.models_on(left) == 1);
}

TEST_CASE("deployer: a model is loaded once its files have come, or do not come") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet file", 10s});
  const auto model = all.line_on(left).model;
  CHECK(all.loads(left) == 0);
  all.deliver(left, files_settled{{model.value + 1}});
  CHECK(all.loads(left) == 0);
  for (const auto node : {left, right}) {
    all.deliver(node, files_settled{model});
    CHECK(all.loads(node) == 1);
    all.deliver(node, files_settled{model});
    CHECK(all.loads(node) == 1);
    all.end_load(node);
  }
  REQUIRE(*reply);
  CHECK((*reply)->complete);
  all.ask(head, undeploy{0, "resnet", {}});
  for (const auto node : {head, left, right}) all.idle(node);
  const auto again = all.ask(head, redeploy{0, "resnet", 10s});
  CHECK(all.loads(left) == 0);
  all.deliver(left, files_settled{model});
  CHECK(all.next_load(left).wanted == deployment_state::deployed);
}

TEST_CASE("deployer: all nodes load a model by the engine that the leader decided, also later") {
  deployers all;
  all.ask(left, deploy{0, "resnet openvino", 10s});
  all.ask(head, deploy{0, "mlp", 10s});
  for (const auto node : {left, right}) {
    CHECK(all.next_load(node).definition.runs_by() == model_engine::openvino);
    all.end_load(node);
    CHECK(all.next_load(node).definition.runs_by() == model_engine::automatic);
    all.end_load(node);
  }
  all.ask(head, undeploy{0, "resnet", {}});
  for (const auto node : {head, left, right}) all.idle(node);
  const auto again = all.ask(right, redeploy{0, "resnet", 10s});
  for (const auto node : {left, right})
    CHECK(all.next_load(node).definition.runs_by() == model_engine::openvino);
}

TEST_CASE("deployer: one wake-up is requested for any number of reviews") {
  deployers all;
  const auto before = all.wake_ups();
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.part(left, right);
  all.connect(left, right);
  all.part(head, right);
  all.connect(head, right);
  CHECK_FALSE(*reply);
  CHECK(all.wake_ups() == before + 1);
}

TEST_CASE("deployer: a worker that leaves during a deployment is not waited for") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left);
  all.deliver(head, peer_change{right, {1}, false});
  REQUIRE(*reply);
  CHECK((*reply)->complete);
}

TEST_CASE("deployer: a worker that cannot load a model is named") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left, "out of memory");
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "node 'left' cannot load model 'resnet': out of memory");
}

TEST_CASE("deployer: a device that is lost during a load ends the process") {
  deployers all;
  all.broken.emplace();
  all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left, "an illegal address", true);
  CHECK(all.broken->find("slot 0: its device is lost: an illegal address") != std::string::npos);
}

TEST_CASE("deployer: a model is refused and not loaded if its plug-in creates no policy") {
  batchings().add("for nobody", [](const batching_parameters&, shedding) -> std::unique_ptr<batching_policy> {
    throw std::runtime_error("not today");
  });
  deployers all(true, "for nobody");
  const auto reply = all.ask(left, deploy{0, "resnet", 10s});
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "model 'resnet': cannot create the batching policy 'for nobody': not today");
  CHECK(all.loads(left) == 0);
}

TEST_CASE("deployer: a second deployment of a name waits for the first, or is refused") {
  deployers all;
  const auto one = all.ask(head, deploy{0, "resnet", 10s});
  const auto same = all.ask(left, deploy{0, "resnet", 10s});
  const auto other = all.ask(right, deploy{0, "resnet big", 10s});
  REQUIRE(*other);
  CHECK_FALSE((*other)->ok);
  CHECK((*other)->detail == "model 'resnet' is deployed with another definition; undeploy it first");
  CHECK(all.loads(left) == 1);
  CHECK_FALSE(*same);
  all.end_load(left);
  all.end_load(right);
  REQUIRE(*one);
  REQUIRE(*same);
  CHECK((*same)->complete);
  CHECK((*same)->revision == (*one)->revision);
}

TEST_CASE("deployer: a model that is undeployed while it loads is released when it is loaded") {
  deployers all;
  const auto up = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left);
  const auto down = all.ask(head, undeploy{0, "resnet", 10s});
  REQUIRE(*up);
  CHECK_FALSE((*up)->ok);
  CHECK((*up)->detail == "model 'resnet' was undeployed meanwhile");
  CHECK(all.line_on(head).wanted == deployment_state::retiring);
  all.idle(head);
  CHECK(all.line_on(left).wanted == deployment_state::undeployed);
  CHECK(all.models_on(left) == 0);
  CHECK(all.line_on(right).wanted == deployment_state::retiring);  // it loads still
  const auto again = all.ask(head, redeploy{0, "resnet", {}});
  REQUIRE(*again);
  CHECK_FALSE((*again)->ok);
  CHECK((*again)->detail == "model 'resnet' is being released by node 'left'; try again");
  all.end_load(right);
  CHECK(all.line_on(right).wanted == deployment_state::undeployed);
  CHECK(all.models_on(right) == 0);
  all.idle(left);
  CHECK_FALSE(*down);
  all.idle(right);
  REQUIRE(*down);
  CHECK((*down)->complete);
  CHECK((*down)->detail == "model 'resnet' is undeployed");
}

TEST_CASE("deployer: a command forwarded to a lost scheduler is answered as failed") {
  deployers all;
  const auto reply = all.ask(left, deploy{0, "resnet", 10s});
  CHECK_FALSE(*reply);
  all.deliver(left, peer_change{head, {1}, false});
  REQUIRE(*reply);
  CHECK_FALSE((*reply)->ok);
  CHECK((*reply)->detail == "node 'head' ended before it answered; try again");
}

TEST_CASE("deployer: a scheduler decides nothing before it has the log of every node") {
  deployers all(false);
  const auto reply = all.ask(left, deploy{0, "resnet", {}});
  CHECK_FALSE(*reply);
  all.connect(head, right);
  REQUIRE(*reply);
  CHECK((*reply)->ok);
  CHECK(all.loads(right) == 1);
}

TEST_CASE("deployer: lines that the last leader sent to some nodes reach all in the next term") {
  deployers all;
  all.part(head, right);
  all.ask(head, deploy{0, "resnet", {}});
  all.part(head, left);
  CHECK(all.loads(left) == 1);
  CHECK(all.loads(right) == 0);
  node_id next = left;
  SUBCASE("if the next leader is one of them") { next = left; }
  SUBCASE("if it is not") { next = right; }
  for (const auto node : {left, right}) all.deliver(node, leadership{{5}, next, {1}});
  CHECK(all.loads(right) == 1);
  CHECK(all.line_on(right).revision == all.line_on(left).revision);
}

TEST_CASE("deployer: a new leader decides nothing before it has the logs of the others") {
  deployers all;
  all.part(head, left);
  all.part(head, right);
  all.deliver(left, leadership{{5}, left, {1}});
  const auto reply = all.ask(left, deploy{0, "resnet", {}});
  CHECK_FALSE(*reply);
  all.deliver(right, leadership{{5}, left, {1}});
  REQUIRE(*reply);
  CHECK((*reply)->ok);
  CHECK(all.loads(right) == 1);
}

TEST_CASE(
    "deployer: a line that a deposed scheduler sent to one node reaches the leader, and from it all nodes") {
  deployers all;
  all.part(head, left);
  for (const auto node : {left, right}) all.deliver(node, leadership{{5}, left, {1}});
  all.ask(head, deploy{0, "resnet", {}});
  CHECK(all.loads(right) == 1);
  CHECK(all.loads(left) == 1);
}

TEST_CASE("deployer: a model of the only worker is deployed again once another worker has it") {
  deployers all;
  all.part(head, right);
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.part(head, left);
  CHECK_FALSE(*reply);
  const auto now = all.ask(head, redeploy{0, "resnet", {}});
  REQUIRE(*now);
  CHECK((*now)->ok);
  CHECK_FALSE((*now)->complete);
  CHECK((*now)->detail == "model 'resnet' waits for a worker; none is up");
  all.connect(head, right);
  CHECK_FALSE(*reply);
  all.end_load(right);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
}

TEST_CASE("deployer: after a freeze the scheduler still waits for workers that have not connected again") {
  deployers all;
  const auto reply = all.ask(head, deploy{0, "resnet", 10s});
  all.end_load(left);
  all.begin_new_incarnation(head, {2});
  CHECK_FALSE(*reply);
  for (const auto worker : {left, right}) {
    all.deliver(worker, peer_change{head, {1}, false});
    all.connect(head, worker);
  }
  CHECK_FALSE(*reply);
  all.end_load(right);
  REQUIRE(*reply);
  CHECK((*reply)->complete);
}

TEST_CASE("deployer: the answer to an earlier incarnation of a node does not reach the later one") {
  deployers all;
  all.ask(head, deploy{0, "vgg", {}});
  all.end_load(left);
  all.end_load(right);
  all.ask(left, deploy{0, "resnet", 10s});  // of the process that ends
  all.restart(left, {2});
  const auto reply = all.ask(left, undeploy{0, "vgg", 10s});
  while (all.loads(left) > 0) all.end_load(left);
  all.end_load(right);  // resnet is ready everywhere
  CHECK_FALSE(*reply);
  all.idle(head);
  for (const auto worker : {left, right}) all.idle(worker);
  REQUIRE(*reply);
  CHECK((*reply)->detail == "model 'vgg' is undeployed");
}

TEST_CASE("deployer: a change beyond the bound on waiting commands is made, and answered at once") {
  deployers all;
  for (int i = 0; i < 256; ++i) all.ask(head, deploy{0, "resnet", 10s});
  const auto one_more = all.ask(head, deploy{0, "vgg", 10s});
  REQUIRE(*one_more);
  CHECK((*one_more)->ok);
  CHECK_FALSE((*one_more)->complete);
  CHECK((*one_more)->revision == 2);
  CHECK((*one_more)->detail ==
        "model 'vgg' is being loaded by node 'left'; too many commands wait for completion already");
}
