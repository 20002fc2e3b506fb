#include "actors/tensor/slot_models.hpp"

#include <doctest/doctest.h>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

std::vector<model_ready> loaded_models(std::initializer_list<uint32_t> ids) {
  std::vector<model_ready> out;
  for (const auto id : ids) {
    out.push_back(ready(0, 12, 4 + id, 8).models.at(0));
    out.back().model = model_id{id};
  }
  return out;
}

}  // namespace

TEST_CASE("slot models: the slot has the models that were loaded last, with the bytes of their rows") {
  slot_models m;
  CHECK(m.empty());
  m.set(loaded_models({0, 3}));
  CHECK_FALSE(m.empty());
  REQUIRE(m.find(model_id{3}) != nullptr);
  CHECK(m.find(model_id{3})->input == 7);
  CHECK(m.find(model_id{3})->output == 8);
  CHECK(m.find(model_id{1}) == nullptr);  // between two
  CHECK(m.find(model_id{4}) == nullptr);  // beyond the last
  m.set(loaded_models({1}));
  CHECK(m.find(model_id{3}) == nullptr);
  const auto all = m.all();
  REQUIRE(all.size() == 1);
  CHECK(all[0].first == model_id{1});
}

TEST_CASE("slot models: a leaving model is idle when it does not run, and is returned once") {
  slot_models m;
  m.set(loaded_models({0, 1}));
  m.leave({model_id{0}, 7, worker_of(0)});
  m.leave({model_id{1}, 8, worker_of(0)});
  CHECK(m.find(model_id{0}) == nullptr);
  auto idle = m.take_idle(model_id{0});
  REQUIRE(idle.size() == 1);
  CHECK(idle[0].model == model_id{1});
  CHECK(idle[0].revision == 8);
  idle = m.take_idle({});
  REQUIRE(idle.size() == 1);
  CHECK(idle[0].model == model_id{0});
  CHECK(m.take_idle({}).empty());
}

TEST_CASE("slot models: a model that is wanted again before it is idle stays") {
  slot_models m;
  m.set(loaded_models({0}));
  m.leave({model_id{0}, 7, worker_of(0)});
  m.stay(model_id{0});
  CHECK(m.take_idle({}).empty());
  m.leave({model_id{9}, 7, worker_of(0)});  // that was never loaded
  CHECK(m.take_idle({}).size() == 1);
}
