#include "policies/scaling/instance_choice.hpp"

#include <doctest/doctest.h>

#include "tests/policies/scaling/scaling_views.hpp"

using namespace troupe;

namespace {

using enum instance_stage;

/// One place of model 0 on each node, and its images.
small_view with_images(uint32_t nodes, uint32_t wanted) {
  small_view v(nodes, {wanted});
  v.places();
  for (uint32_t n = 0; n < nodes; ++n) v.image(n);
  return v;
}

}  // namespace

TEST_CASE("instance choice: a draining engine serves first, then a parked one, then by images") {
  small_view v(6, {0});
  v.places();
  v.image(4);
  v.image(3, 0, 2);
  for (const uint32_t n : {1, 2, 5}) v.image(n);
  v.view.places[2].stage = parked;
  v.view.places[1].stage = draining;
  const auto serving_with = [&](uint32_t wanted) {
    v.view.models[0].wanted = wanted;
    return v.choose();
  };
  CHECK(serving_with(0).empty());
  CHECK(serving_with(1) == "1 serving");
  CHECK(serving_with(2) == "1 serving, 2 serving");
  CHECK(serving_with(3) == "1 serving, 2 serving, 4 serving");
  CHECK(serving_with(4) == "1 serving, 2 serving, 4 serving, 5 serving");
  CHECK(serving_with(5) == "1 serving, 2 serving, 3 serving, 4 serving, 5 serving");
  CHECK(serving_with(6) == "1 serving, 2 serving, 3 serving, 4 serving, 5 serving");  // 0 has no images
  CHECK(v.starting() == "0 1 2 3 4 5");
  CHECK(serving_with(7).ends_with("short of 0"));
}

TEST_CASE("instance choice: of a model that is disaggregated one of the phase that has too many stops") {
  auto v = with_images(4, 3);
  v.view.models[0].prefill = 1;
  for (uint32_t i = 0; i < 4; ++i) {
    v.view.places[i].stage = serving;
    v.view.places[i].phase = i == 0 ? instance_phase::prefill : instance_phase::decode;
    v.view.places[i].sequences = i;
  }
  CHECK(v.choose() == "1 parked");
  v.view.models[0].prefill = 2;
  v.view.models[0].wanted = 2;
  CHECK(v.choose() == "1 parked, 2 parked");
  for (auto& p : v.view.places) p.phase = instance_phase::prefill;
  v.view.places[3].phase = instance_phase::decode;
  v.view.models[0].prefill = 1;
  CHECK(v.choose() == "0 parked, 1 parked");
}

TEST_CASE("instance choice: a node in a scale-up domain with the images comes before others without them") {
  small_view v(5, {2});
  v.places();
  v.image(2);
  v.image(4, 0, 3);
  v[2].domain = v[3].domain = 0;
  v[1].domain = 1;
  CHECK(v.starting() == "2 4");
  v.view.models[0].wanted = 3;
  CHECK(v.starting() == "2 3 4");
  v.view.models[0].wanted = 4;
  CHECK(v.starting() == "0 2 3 4");
  v[2].images.clear();
  v.view.models[0].wanted = 2;
  CHECK(v.starting() == "0 4");
}

TEST_CASE("instance choice: among equals the node with the fewest engines comes first, then the first one") {
  auto v = with_images(3, 1);
  CHECK(v.choose() == "0 serving");
  v.place(0, 7, serving);
  CHECK(v.choose() == "1 serving");
}

TEST_CASE("instance choice: two models do not start on the same node while another one is as good") {
  small_view v(2, {1, 1});
  for (const uint32_t m : {0, 1}) v.places(m);
  for (const uint32_t n : {0, 1})
    for (const uint32_t m : {0, 1}) v.image(n, m);
  CHECK(v.choose() == "0 serving, 3 serving");
}

TEST_CASE("instance choice: surplus stops where it loads, the last first, then where sequences are fewest") {
  auto v = with_images(4, 4);
  for (auto& p : v.view.places) p.stage = serving;
  v.view.places[1].stage = v.view.places[2].stage = loading;
  v.view.places[0].sequences = 3;
  v.view.places[3].sequences = 4;
  const auto stopped = [&](uint32_t wanted) {
    v.view.models[0].wanted = wanted;
    return v.choose();
  };
  CHECK(stopped(4).empty());
  CHECK(v.starting() == "1 2");
  CHECK(stopped(3) == "2 idle");
  CHECK(v.starting() == "1");
  CHECK(stopped(2) == "1 idle, 2 idle");
  CHECK(stopped(1) == "0 parked, 1 idle, 2 idle");
  CHECK(stopped(0) == "0 parked, 1 idle, 2 idle, 3 parked");
  CHECK(v.starting().empty());
}

TEST_CASE("instance choice: engines that are parked for too long become idle, unless they are wanted") {
  auto v = with_images(2, 0);
  for (auto& p : v.view.places) p.stage = parked;
  CHECK(v.choose().empty());
  v.view.places[0].park_is_over = v.view.places[1].park_is_over = true;
  CHECK(v.choose() == "0 idle, 1 idle");
  v.view.models[0].wanted = 1;
  CHECK(v.choose() == "0 serving, 1 idle");
}

TEST_CASE("instance choice: an engine waits until its node lists the images") {
  small_view v(1);
  v.places();
  CHECK(v.choose().empty());
  CHECK(v.starting() == "0");
  v.filling(0, 0, 0, 0);
  v[0].images[0].chunks = 0;  // ordered, and not reported
  CHECK(v.choose().empty());
  v[0].images[0].chunks = 5;
  CHECK(v.choose() == "0 serving");
  v.view.places[0].stage = loading;
  CHECK(v.choose().empty());
  CHECK(v.starting() == "0");
}

TEST_CASE("instance choice: engines that load by themselves need no images and no capacity") {
  small_view v(1);
  v.places();
  v.view.models[0].bytes = 0;
  v[0].capacity = 0;
  CHECK(v.choose() == "0 serving");
}

TEST_CASE("instance choice: max_engines holds, and parked engines make room once they are idle") {
  small_view v(1, {1, 1});
  v.place(0, 0);
  v.image(0);
  v.place(0, 1, serving);
  v.place(0, 1, parked);
  v[0].max_engines = 2;
  CHECK(v.choose() == "2 idle");
  CHECK(v.starting() == "0");
  v.view.places[2].stage = idle;
  CHECK(v.choose() == "0 serving");
  v.view.places[2].stage = draining;
  CHECK(v.choose() == "short of 0");
  CHECK(v.starting().empty());
  v[0].max_engines = 3;
  CHECK(v.choose() == "0 serving");
}

TEST_CASE("instance choice: an engine that stops loading leaves its room when it is idle") {
  small_view v(1, {0, 1});
  v.place(0, 0, loading);
  v.place(0, 1);
  v.image(0, 0);
  v.image(0, 1);
  v[0].max_engines = 1;
  CHECK(v.choose() == "0 idle");
  CHECK(v.starting() == "1");
}

TEST_CASE("instance choice: an engine starts rather where nothing has to go") {
  small_view v(2, {0, 1});
  v.place(0, 0, parked);
  v.place(0, 1);
  v.place(1, 1);
  v.place(1, 5, serving);
  v.view.nodes[0].max_engines = 1;
  for (const uint32_t n : {0, 1}) v.image(n, 1);
  CHECK(v.choose() == "2 serving");
}

TEST_CASE("instance choice: engines stay within the capacity") {
  small_view v(2, {1, 2});
  v.place(0, 0, serving);
  v.image(0);
  v.places(1);
  v[0].capacity = 15 * megabyte;
  CHECK(v.starting() == "2");
  CHECK(v.choose() == "short of 1");
  v[1].capacity = 9 * megabyte;
  CHECK(v.starting().empty());
}

TEST_CASE("instance choice: two engines of a model share its images on a node") {
  small_view v(1, {2});
  v.place(0);
  v.place(0);
  v[0].capacity = 10 * megabyte;
  CHECK(v.starting() == "0 1");
  CHECK(v.choose().empty());
}

TEST_CASE(
    "instance choice: images of which enough copies are elsewhere make room, parked engines with them") {
  small_view v(2, {0, 1});
  v.place(0, 0, parked);
  v.place(0, 1);
  v.image(0);
  v[0].capacity = 10 * megabyte;
  CHECK(v.choose() == "short of 1");  // the last copy
  v.image(1);
  CHECK(v.choose() == "0 idle");
  CHECK(v.starting() == "1");
  v.view.places[0].stage = draining;
  CHECK(v.choose() == "short of 1");
  v.view.places[0].stage = parked;
  v[1].leaving = true;
  CHECK(v.choose() == "short of 1");
  v[1].leaving = false;
  v.view.copies = 2;
  CHECK(v.choose() == "short of 1");
}

TEST_CASE("instance choice: two engines do not count on the same spare copy") {
  small_view v(2, {0, 2});
  v.places(1);
  for (const uint32_t n : {0, 1}) v.image(n), v[n].capacity = 10 * megabyte;
  CHECK(v.starting() == "0");
  CHECK(v.choose() == "short of 1");
}

TEST_CASE("instance choice: places that cannot load are left out, and stop") {
  auto v = with_images(3, 1);
  v.view.places[0].unusable = true;
  CHECK(v.choose() == "1 serving");
  v[1].images[0].ready = 3;
  v[1].images[0].problem = "no such checkpoint";
  CHECK(v.choose() == "2 serving");
  v.view.places[1].stage = loading;
  CHECK(v.choose() == "1 idle, 2 serving");
  v.view.places[1].stage = idle;
  v.view.places[0].stage = loading;
  CHECK(v.choose() == "0 idle, 2 serving");
  v.view.models[0].wanted = 2;
  CHECK(v.choose() == "0 idle, 2 serving, short of 0");
  v.view.models[0].bytes = 0;
  CHECK(v.starting() == "2");
}

TEST_CASE("instance choice: engines on nodes that leave are replaced, and only those that load are stopped") {
  auto v = with_images(3, 2);
  v.view.places[0].stage = serving;
  v.view.places[1].stage = loading;
  CHECK(v.choose().empty());
  v[0].leaving = true;
  CHECK(v.choose() == "2 serving");
  v[0].leaving = false;
  v[1].leaving = true;
  CHECK(v.choose() == "1 idle, 2 serving");
  v[2].leaving = true;
  CHECK(v.choose() == "1 idle, short of 0");
}

TEST_CASE("instance choice: an engine serves on although the shard of its node has not reported") {
  small_view v(1, {1});
  v.place(9, 0, serving);
  v.place(0, 0);
  v.image(0);
  CHECK(v.choose().empty());
  v.view.places[0].stage = parked;
  CHECK(v.choose() == "0 serving");
  v.view.places[0].stage = idle;
  CHECK(v.choose() == "1 serving");
}

TEST_CASE("instance choice: orders ascend by model, then by engine") {
  small_view v(2, {2, 2});
  for (const uint32_t m : {1, 0}) v.places(m);
  for (const uint32_t n : {0, 1})
    for (const uint32_t m : {0, 1}) v.image(n, m);
  CHECK(v.choose() == "2 serving, 3 serving, 0 serving, 1 serving");
}
