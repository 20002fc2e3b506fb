#include "actors/tensor/catalog.hpp"

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {
catalog two_models() {
  return catalog({{model_id{0}, "a", 10ms, 1, {}, 0}, {model_id{1}, "b", 20ms, 1, {}, 0}});
}
slot_ready only_b(uint32_t slot, node_id node) {
  auto s = ready(slot);
  s.worker.node = node;
  s.models[0].model = model_id{1};
  return s;
}
}  // namespace

TEST_CASE("catalog: a model is served once a slot has it, with the slot's shapes") {
  auto c = two_models();
  CHECK(c.find("a")->slots == 0);
  CHECK(c.find("a")->signature.inputs.empty());
  c.add(ready(0));
  CHECK(c.find("a")->slots == 1);
  CHECK(c.find("a")->max_batch == 64);
  CHECK(c.find("a")->signature.inputs.at(0).name == "in");
  CHECK_FALSE(c.serving());
  c.add(only_b(1, worker_node));
  CHECK_FALSE(c.serving());  // without a scheduler no model is served
  c.set_scheduler_up(true);
  CHECK(c.serving());
  CHECK(c.find("c") == nullptr);
  CHECK(c.all().size() == 2);
}

TEST_CASE("catalog: a slot counts once for any number of ready messages") {
  auto c = two_models();
  c.add(ready(0));
  c.add(ready(0));
  CHECK(c.find("a")->slots == 1);
}

TEST_CASE("catalog: the removal of a node removes its slots, and no others") {
  auto c = two_models();
  c.add(ready(0));
  c.add(only_b(1, worker_node));
  c.add(only_b(2, node_id{7}));
  c.remove_node(worker_node);
  CHECK(c.find("a")->slots == 0);
  CHECK(c.find("b")->slots == 1);
  c.clear();
  CHECK(c.find("b")->slots == 0);
}

TEST_CASE("catalog: a new report of a slot replaces the old one") {
  auto c = two_models();
  c.add(ready(0));
  c.add(only_b(0, worker_node));
  CHECK(c.find("a")->slots == 0);
  CHECK(c.find("b")->slots == 1);
}

TEST_CASE("catalog: an opened model counts for readiness once a slot had it, a closed one is unknown") {
  auto c = two_models();
  c.set_scheduler_up(true);
  auto s = ready(0);
  s.models.push_back(s.models[0]);
  s.models.back().model = model_id{1};
  c.add(s);
  CHECK(c.serving());
  c.open({model_id{2}, "c", 5ms, 8, {}, 0});
  CHECK(c.find("c")->slots == 0);
  CHECK(c.serving());
  s.models.push_back(s.models[0]);
  s.models.back().model = model_id{2};
  c.add(s);
  CHECK(c.find("c")->slots == 1);
  c.remove_node(worker_node);
  CHECK_FALSE(c.serving());
  c.add(only_b(0, worker_node));
  c.close(model_id{0}, {"a"});
  c.close(model_id{2}, {"c"});
  CHECK(c.serving());
  CHECK_FALSE(c.find("c"));
}

TEST_CASE("catalog: closed models are listed until they are open again or forgotten") {
  auto c = two_models();
  CHECK(c.closed().empty());
  c.close(model_id{0}, {"a", true});
  REQUIRE(c.closed().size() == 1);
  CHECK(c.closed()[0].name == "a");
  CHECK(c.closed()[0].unloading);
  c.close(model_id{0}, {"a"});
  c.close(model_id{1}, {"b"});
  REQUIRE(c.closed().size() == 2);
  CHECK_FALSE(c.closed()[0].unloading);
  c.open({model_id{2}, "a", 10ms, 2, {}, 0});  // with another definition
  REQUIRE(c.closed().size() == 1);
  CHECK(c.closed()[0].name == "b");
  c.close(model_id{1}, {});
  CHECK(c.closed().empty());
}

TEST_CASE("catalog: a model that is opened counts the slots that had it before") {
  auto c = two_models();
  auto s = ready(0);
  s.models[0].model = model_id{5};
  c.add(s);
  c.open({model_id{5}, "f", 5ms, 8, {}, 0});
  CHECK(c.find("f")->slots == 1);
  CHECK(c.find("f")->signature.inputs.size() == 1);
}

TEST_CASE("catalog: a model has the engine of the latest line of the log") {
  auto c = two_models();
  CHECK(c.find("a")->engine == model_engine::automatic);
  const auto& a = *c.find("a");
  c.open({a.model, a.name, a.slo, a.max_batch, {}, 0, true, {}, model_engine::openvino});
  CHECK(c.find("a")->engine == model_engine::openvino);
}
