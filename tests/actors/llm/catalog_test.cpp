#include "actors/llm/catalog.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

/// Two models; the first has two engines.
cluster_spec two_models() {
  cluster_spec c;
  c.llms.resize(2);
  c.llms[0].name = "a";
  c.llms[1].name = "b";
  for (const uint32_t model : {0u, 0u, 1u}) {
    engine_spec e;
    e.model = llm_id{model};
    c.engines.push_back(e);
  }
  return c;
}

adapters_known all_of(uint32_t model, uint32_t engine, std::vector<adapter_entry> present) {
  return {llm_id{model}, engine_id{engine}, true, std::move(present), {}};
}

}  // namespace

TEST_CASE("llm catalog: an unknown name may be an adapter until an engine of every model has told its own") {
  llm_catalog c(two_models());
  CHECK_FALSE(c.knows_all_adapters());
  c.update(all_of(0, 1, {{"x", "/x"}}));
  CHECK(c.find("x"));
  CHECK_FALSE(c.knows_all_adapters());
  c.update(adapters_known{llm_id{1}, engine_id{2}, false, {{"y", "/y"}}, {}});  // some of them
  CHECK_FALSE(c.knows_all_adapters());
  c.update(all_of(1, 2, {}));
  CHECK(c.knows_all_adapters());
  CHECK_FALSE(c.find("y"));
  c.lose(engine_id{1});
  CHECK(c.knows_all_adapters());
  CHECK(c.find("x"));  // until the engine reports again
}

TEST_CASE("llm catalog: names of models take precedence, and an adapter goes with its last engine") {
  llm_catalog c(two_models());
  c.update(all_of(0, 0, {{"b", "/b"}, {"x", "/x"}}));
  c.update(all_of(0, 1, {{"x", "/x"}}));
  CHECK(c.find("b")->model == llm_id{1});
  CHECK(c.find("x")->adapter == "x");
  CHECK(c.lacking(engine_id{1}).size() == 1);
  c.update(adapters_known{llm_id{0}, engine_id{0}, false, {}, {"x"}});
  CHECK(c.find("x"));
  c.update(adapters_known{llm_id{0}, engine_id{1}, false, {}, {"x"}});
  CHECK_FALSE(c.find("x"));
}

TEST_CASE("llm catalog: a status says whether the adapters in use are others") {
  llm_catalog c(two_models());
  engine_status s;
  s.engine = engine_id{1};
  CHECK_FALSE(c.update(s));
  s.running_adapters = {"x"};
  CHECK(c.update(s));
  s.running = 7;
  CHECK_FALSE(c.update(s));
  std::swap(s.running_adapters, s.waiting_adapters);
  CHECK(c.update(s));
  s.engine = engine_id{3};  // there is none
  CHECK_FALSE(c.update(s));
}

TEST_CASE("llm catalog: a model whose engines are expected back is up until one of them is ready") {
  llm_catalog c(two_models());
  const auto say = [&](uint32_t engine, bool ready) {
    engine_status s;
    s.engine = engine_id{engine};
    s.ready = ready;
    s.stage = ready ? instance_stage::serving : instance_stage::loading;
    c.update(s);
  };
  say(0, true);
  for (uint32_t i = 0; i < 3; ++i) c.lose(engine_id{i}, true);
  CHECK(c.find("a")->up);
  CHECK_FALSE(c.engines()[0].ready);
  CHECK_FALSE(c.find("b")->up);  // its engine was not up
  say(1, false);
  CHECK(c.find("a")->up);
  say(0, true);
  CHECK(c.find("a")->up);
  c.lose(engine_id{0});
  CHECK_FALSE(c.find("a")->up);
}

TEST_CASE("llm catalog: a model that is started on demand is up while one of its engines can be started") {
  auto cluster = two_models();
  cluster.llms[0].scales = true;
  llm_catalog c(cluster);
  const auto say = [&](uint32_t engine, bool ready, std::string problem = {}) {
    engine_status s;
    s.engine = engine_id{engine};
    s.ready = ready;
    s.problem = std::move(problem);
    c.update(s);
  };
  CHECK_FALSE(c.find("a")->up);  // no engine has reported
  say(0, false);
  CHECK(c.find("a")->up);
  CHECK_FALSE(c.engines()[0].ready);
  say(2, false);
  CHECK_FALSE(c.find("b")->up);  // it does not scale
  say(0, false, "the file is cut off");
  CHECK_FALSE(c.find("a")->up);
  say(1, false);
  CHECK(c.find("a")->up);
  c.lose(engine_id{1});
  CHECK_FALSE(c.find("a")->up);
}

TEST_CASE("llm catalog: a model is awaited unless it may have no instances") {
  auto cluster = two_models();
  cluster.llms[0].scales = true;
  engine_status s;
  s.ready = true;
  s.engine = engine_id{2};
  SUBCASE("it may have none") {
    llm_catalog c(cluster);
    CHECK_FALSE(c.every_model_was_served());
    c.update(s);
    CHECK(c.every_model_was_served());
  }
  SUBCASE("it has one at least") {
    cluster.llms[0].min_instances = 1;
    llm_catalog c(cluster);
    c.update(s);
    CHECK_FALSE(c.every_model_was_served());
    s.engine = engine_id{1};
    c.update(s);
    CHECK(c.every_model_was_served());
  }
}
