#include "policies/scaling/pending_orders.hpp"

#include <doctest/doctest.h>

#include "tests/policies/scaling/scaling_views.hpp"

using namespace troupe;

namespace {

using enum instance_stage;

copy_place place_on(uint32_t node, uint32_t from) { return {node_id{node}, weights_id{0}, node_id{from}}; }
copy_drop drop_on(uint32_t node) { return {node_id{node}, weights_id{0}}; }

instance_stage expected_stage(instance_stage now, instance_stage to) {
  small_view v(1);
  v.place(0, 0, now);
  pending_orders o;
  o.send(std::vector<stage_order>{{engine_id{0}, to}});
  return o.expected(v.view).places[0].stage;
}

}  // namespace

TEST_CASE(
    "pending orders: engines are expected in their next stages, and keep their room until they are idle") {
  CHECK(expected_stage(idle, serving) == loading);
  CHECK(expected_stage(loading, serving) == loading);
  CHECK(expected_stage(draining, serving) == serving);
  CHECK(expected_stage(parked, serving) == serving);
  CHECK(expected_stage(serving, parked) == draining);
  CHECK(expected_stage(loading, idle) == draining);
  CHECK(expected_stage(serving, idle) == draining);  // it has loaded in between
  CHECK(expected_stage(parked, idle) == parked);
}

TEST_CASE(
    "pending orders: an engine gets one order at a time, until a status shows it or the place is gone") {
  small_view v(1);
  v.place(0);
  pending_orders o;
  const std::vector<stage_order> serve{{engine_id{0}, serving}}, park{{engine_id{0}, parked}};
  const auto pending = [&] {
    o.expected(v.view);
    return !o.stages().empty();
  };
  CHECK(o.send(serve) == serve);
  CHECK(o.stages() == serve);
  CHECK(o.send(serve).empty());
  CHECK(o.send(park).empty());
  CHECK(pending());
  v.view.places[0].stage = loading;
  CHECK(!pending());
  CHECK(o.send(park) == park);
  CHECK(pending());
  v.view.places[0].stage = draining;
  CHECK(!pending());
  SUBCASE("to idle") {
    v.view.places[0].stage = parked;
    o.send({{engine_id{0}, idle}});
    CHECK(pending());
    v.view.places[0].stage = idle;
    CHECK(!pending());
  }
  SUBCASE("the engine cannot load") {
    v.view.places[0].stage = idle;
    o.send(serve);
    CHECK(pending());
    v.view.places[0].unusable = true;
    CHECK(!pending());
  }
  SUBCASE("the place is gone") {
    o.send(serve);
    v.view.places.clear();
    CHECK(!pending());
  }
}

TEST_CASE("pending orders: images that are placed are expected to fill, without chunks yet") {
  small_view v(2);
  pending_orders o;
  o.send(copy_plan{{place_on(1, 0)}, {}});
  auto e = o.expected(v.view);
  REQUIRE(e.nodes[1].images.size() == 1);
  CHECK(e.nodes[1].images[0] == image_state{weights_id{0}, 0, 0, true, node_id{0}, 10 * megabyte});
  v.image(1, 0, 3).from = node_id{7};
  e = o.expected(v.view);
  CHECK(e.nodes[1].images[0].filling);
  CHECK(e.nodes[1].images[0].from == node_id{0});
  CHECK(e.nodes[1].images[0].ready == 3);
}

TEST_CASE(
    "pending orders: placed images are shown when they come from the source, are complete or have problems") {
  small_view v(2);
  pending_orders o;
  o.send(copy_plan{{place_on(1, 0)}, {}});
  auto& i = v.image(1, 0, 1);
  i.filling = true;
  i.from = node_id{7};
  SUBCASE("from another source") {
    o.expected(v.view);
    CHECK(o.copies().places == std::vector{place_on(1, 0)});
    return;
  }
  SUBCASE("from the source") { i.from = node_id{0}; }
  SUBCASE("complete") { i.ready = 5; }
  SUBCASE("with a problem") {
    i.filling = false;
    i.problem = "none";
  }
  SUBCASE("the node is gone") { v.view.nodes.pop_back(); }
  o.expected(v.view);
  CHECK(o.copies().places.empty());
}

TEST_CASE("pending orders: images that are dropped are no copies, but take their bytes until they are gone") {
  small_view v(2);
  v.image(1);
  pending_orders o;
  o.send(copy_plan{{}, {drop_on(1)}});
  const auto e = o.expected(v.view);
  CHECK(e.nodes[1].images.empty());
  CHECK(e.nodes[1].bytes_going() == 10 * megabyte);
  CHECK(o.copies().drops == std::vector{drop_on(1)});
  v[1].images.clear();
  CHECK(o.expected(v.view).nodes[1].going.empty());
  CHECK(o.copies().drops.empty());
}

TEST_CASE("pending orders: of one image there is one order, except that a source replaces another") {
  pending_orders o;
  const auto sent = [&](const copy_plan& p) {
    const auto s = o.send(p);
    return s.places.size() + s.drops.size();
  };
  CHECK(sent({{place_on(1, 0)}, {drop_on(1), drop_on(0)}}) == 2);
  CHECK(sent({{place_on(0, 1)}, {drop_on(0)}}) == 0);
  CHECK(sent({{place_on(1, 2)}, {}}) == 1);
  CHECK(o.copies().places == std::vector{place_on(1, 2)});
  CHECK(o.copies().drops == std::vector{drop_on(0)});
}

TEST_CASE("pending orders: a copy of files that their node does not want any more is forgotten") {
  constexpr auto files = weights_of(model_id{2});
  small_view v(2, {});
  v.view.models.push_back({files, "m", 0, 640});
  v[1].images.emplace_back().model = files;
  pending_orders pending;
  pending.expected(v.view);
  CHECK(pending.send(copy_plan{{{node_id{1}, files, node_id{0}, {}, 640}}, {}}).places.size() == 1);
  CHECK(pending.expected(v.view).nodes[1].images[0].filling);
  v[1].images.clear();
  CHECK(pending.expected(v.view).nodes[1].images.empty());
  CHECK(pending.copies().places.empty());
}
