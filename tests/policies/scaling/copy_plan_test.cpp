#include "policies/scaling/copy_plan.hpp"

#include <doctest/doctest.h>

#include "tests/policies/scaling/scaling_views.hpp"

using namespace troupe;

TEST_CASE("copy plan: if nobody has the images, one node reads them, and the others follow it") {
  small_view v(3);
  CHECK(v.plan({to_node(2), to_node(0), to_node(1)}) == "2>2, 2>0, 0>1");
  CHECK(v.plan({to_node(1), to_node(1)}) == "1>1");
  CHECK(v.plan({to_node(1), to_node(7)}) == "1>1");  // 7 is down
}

TEST_CASE("copy plan: models that load by themselves have no copies") {
  small_view v(1);
  v.places();
  v.view.models[0].bytes = 0;
  CHECK(v.plan({to_node(0)}).empty());
}

TEST_CASE("copy plan: images come in chains from nodes that have them and feed no one") {
  small_view v(8);
  v.image(0);
  v.image(1);
  CHECK(v.plan({to_node(2)}) == "1>2, -0");
  CHECK(v.plan({to_node(2), to_node(3)}) == "0>2, 1>3");
  v.filling(4, 0);
  CHECK(v.plan({to_node(4), to_node(2)}) == "1>2");
  CHECK(v.plan({to_node(4), to_node(2), to_node(3)}) == "1>2, 2>3");
  v.filling(5, 1);
  CHECK(v.plan({to_node(4), to_node(5), to_node(2), to_node(3)}) == "4>2, 5>3");  // ends of chains
}

TEST_CASE("copy plan: the end of a chain under way is a source when all complete ones feed someone") {
  small_view v(5);
  v.image(0);
  v.filling(1, 0);
  v.filling(2, 1);
  CHECK(v.plan({to_node(1), to_node(2), to_node(3)}) == "2>3");
  v[2].images[0].ready = 5;  // it has all, and is a source of its own
  CHECK(v.plan({to_node(1), to_node(3)}) == "2>3");
}

TEST_CASE("copy plan: a node whose link sends another model opens no chain while another source can") {
  small_view v(6, {1, 1}, 2);
  v.image(0, 0);
  v.image(1, 0);
  v.image(0, 1);
  v.filling(4, 0, 1);
  const std::vector<copy_target> all{to_node(4, 1), to_node(2), to_node(3)};
  CHECK(v.plan(all) == "1>2, 2>3");
  v[4].images.clear();
  CHECK(v.plan(all) == "0>2, 1>3, 1:0>4");  // in one plan the first model has its choice
  SUBCASE("a model before it in the plan sends, too") {
    v.image(1, 1);
    v[1].images.erase(v[1].images.begin());
    CHECK(v.plan(all) == "0>2, 2>3, 1:1>4");
  }
  SUBCASE("all are busy: the first one sends both") {
    v.filling(4, 0, 1);
    v[1].images.clear();
    CHECK(v.plan(all) == "0>2, 2>3");
  }
  SUBCASE("a transfer inside a scale-up domain does not use the link") {
    cluster_spec c;
    c.nodes.resize(6);
    for (uint32_t n = 0; n < 6; ++n) c.nodes[n].name = std::to_string(n);
    c.links.push_back({{"0", "4"}, 10, "", 0, "nvlink", 3600});
    v.filling(4, 0, 1);
    CHECK(v.plan(all, &c) == "0>2, 1>3");
  }
}

TEST_CASE("copy plan: the time of a transfer is known when its source has all") {
  small_view v(3);
  const link_rates rates([] {
    cluster_spec c;
    c.nodes.resize(3);
    return c;
  }());
  const std::vector<copy_target> all{to_node(1), to_node(2)};
  auto p = plan_copies(v.view, all, rates);
  REQUIRE(p.places.size() == 2);
  CHECK(p.places[1].finish == duration{});
  v.image(0);
  p = plan_copies(v.view, all, rates);
  REQUIRE(p.places.size() == 2);
  CHECK(p.places[0].finish == 8ms);  // 10 MB at 10 Gbit/s
  CHECK(p.places[1].finish == 8250us);
}

TEST_CASE("copy plan: the time of a reader is known by the rate of its disk, and that of those behind it") {
  small_view v(3);
  cluster_spec c;
  c.nodes.resize(3);
  link_rates rates(c);
  const auto times = [&] {
    std::vector<duration> out;
    for (const auto& p : plan_copies(v.view, {to_node(1), to_node(2)}, rates).places) out.push_back(p.finish);
    return out;
  };
  CHECK(times() == std::vector<duration>{0ms, 0ms});
  rates.learn(node_id{2}, {}, 1);  // another node's disk
  CHECK(times() == std::vector<duration>{0ms, 0ms});
  rates.learn(node_id{1}, {}, 1);
  CHECK(times() == std::vector<duration>{80ms, 80250us});  // 10 MB, a chunk of which takes 250 us to travel
  rates.learn(node_id{1}, {}, 100);
  CHECK(times() == std::vector<duration>{800us, 8025us});
}

TEST_CASE("copy plan: members of a scale-up domain form a chain behind the one that has the images") {
  cluster_spec c;
  c.nodes.resize(5);
  for (uint32_t n = 0; n < 5; ++n) c.nodes[n].name = std::to_string(n);
  c.links.push_back({{"0", "1", "2"}, 100, "", 0, "nvlink", 3600});
  c.links.push_back({{"3", "4"}, 100, "", 0, "other", 3600});
  small_view v(5);
  v.image(0);
  CHECK(v.plan({to_node(1), to_node(2), to_node(3), to_node(4)}, &c) == "0>3, 0>1, 1>2, 3>4");
}

TEST_CASE("copy plan: a node whose source is gone gets another one") {
  small_view v(5);
  const std::vector<copy_target> one{to_node(1)};
  v.filling(1, 0);
  SUBCASE("the source is down") {
    v.view.nodes.erase(v.view.nodes.begin());
    CHECK(v.plan(one) == "1>1");
    v.view.nodes[1].images.push_back({weights_id{0}, 5, 5, false, {}, 10 * megabyte});
    CHECK(v.plan(one) == "2>1");
  }
  SUBCASE("the source came back empty") {
    CHECK(v.plan(one) == "1>1");
    v.image(3);
    CHECK(v.plan(one) == "3>1");
  }
  SUBCASE("the source gets the images no more") {
    v.image(3);
    v.image(0, 0, 2);
    CHECK(v.plan(one) == "3>1, -0");
    v[0].images[0].ready = 5;
    CHECK(v.plan(one) == "-3");
  }
  SUBCASE("the source has a problem") {
    v.image(3);
    v.image(0, 0, 2).problem = "damaged";
    CHECK(v.plan(one) == "3>1");
  }
  SUBCASE("the source follows a node that is gone") {
    v.filling(0, 4);
    v.image(3);
    CHECK(v.plan(one) == "3>1, -0");
    CHECK(v.plan({to_node(0), to_node(1)}) == "3>0, 0>1");
  }
}

TEST_CASE("copy plan: nodes that wait for each other get another source") {
  small_view v(4);
  v.filling(0, 1, 0, 2);
  v.filling(1, 0, 0, 3);
  CHECK(v.plan({to_node(0), to_node(1)}) == "1>1, 1>0");  // the one with more chunks reads
  v.filling(2, 1);
  CHECK(v.plan({to_node(0), to_node(1), to_node(2)}) == "1>1, 1>0, 0>2");
  v.image(3);
  CHECK(v.plan({to_node(0), to_node(1), to_node(2)}) == "3>1, 1>0, 0>2");
  CHECK(v.plan({to_node(2)}) == "3>2, -0");  // the others are not needed
}

TEST_CASE("copy plan: a node that follows one with a new source comes along, so that none feeds two") {
  small_view v(4);
  v.filling(1, 9);
  v.filling(2, 1);
  CHECK(v.plan({to_node(1), to_node(3)}) == "1>1, 1>2, 2>3");
  v.image(0);
  CHECK(v.plan({to_node(1), to_node(3)}) == "0>1, 1>2, 2>3");
}

TEST_CASE("copy plan: a node never pulls from one that waits for it") {
  small_view v(3);
  v.image(0, 0, 2);  // its source is gone
  v.filling(1, 0, 0, 1);
  CHECK(v.plan({to_node(0), to_node(1)}) == "0>0, 0>1");
  CHECK(v.plan({to_node(0), to_node(1), to_node(2)}) == "0>0, 0>1, 1>2");
}

TEST_CASE("copy plan: further copies go where images take the smallest part, and only to places") {
  small_view v(4, {0}, 2);
  v.places();
  v.image(1);
  v.image(0, 7);
  v[2].capacity = 200 * megabyte;
  v.image(2, 7);
  v.image(3, 7);
  CHECK(v.plan() == "1>2");
  v.view.places[2].unusable = true;
  CHECK(v.plan() == "1>0");
  v.view.places[2].unusable = false;
  v[2].leaving = true;
  CHECK(v.plan() == "1>0");
  v[0].capacity = 19 * megabyte;
  CHECK(v.plan() == "1>3");
  v.view.places.pop_back();
  CHECK(v.plan().empty());
}

TEST_CASE("copy plan: copies of many models are spread evenly over bytes") {
  small_view v(4, std::vector<uint32_t>(8, 0));
  for (uint32_t m = 0; m < 8; ++m) v.places(m), v.view.models[m].bytes = (1 + m) * megabyte;
  CHECK(v.plan() == "0>0, 1:1>1, 2:2>2, 3:3>3, 4:0>0, 5:1>1, 6:2>2, 7:3>3");
}

TEST_CASE("copy plan: targets count as copies, and their room comes before that of further copies") {
  small_view v(2, {1, 1}, 1);
  v.places(0).places(1);
  v[0].capacity = 10 * megabyte;
  CHECK(v.plan({to_node(0, 1)}) == "1>1, 1:0>0");
  v.view.copies = 2;
  CHECK(v.plan({to_node(1, 0)}) == "1>1, 1>0, 1:1>1");
}

TEST_CASE("copy plan: a part that waits becomes a further copy before a node that has nothing") {
  small_view v(3, {0}, 2);
  v.places();
  v.image(0);
  v.image(2, 0, 3);
  CHECK(v.plan() == "0>2");
  v[2].images[0].filling = true;  // from 0
  CHECK(v.plan().empty());
  v[0].leaving = true;
  CHECK(v.plan() == "2>1");  // 0 counts no more
}

TEST_CASE("copy plan: images wait for room, and until the old ones are gone") {
  small_view v(2);
  v[1].capacity = 15 * megabyte;
  v.image(1, 3);
  v.image(0);
  CHECK(v.plan({to_node(1)}).empty());
  v[1].going = std::move(v[1].images);
  v[1].images.clear();
  CHECK(v.plan({to_node(1)}).empty());
  v[1].capacity = 20 * megabyte;
  CHECK(v.plan({to_node(1)}) == "0>1");
  v[1].going[0].model = weights_id{0};
  CHECK(v.plan({to_node(1)}).empty());
}

TEST_CASE("copy plan: two models do not share the last room") {
  small_view v(3, {1, 1});
  v[0].capacity = 15 * megabyte;
  CHECK(v.plan({to_node(0, 0), to_node(0, 1)}) == "0>0");
}

TEST_CASE("copy plan: images are dropped while more than enough complete copies exist, one at a time") {
  small_view v(4, {0}, 2);
  v.places();
  for (const uint32_t n : {0, 1, 2, 3}) v.image(n);
  v[1].capacity = 20 * megabyte;  // the fullest
  CHECK(v.plan() == "-1");
  v[1].images.clear();
  CHECK(v.plan() == "-0");
  v[0].images.clear();
  CHECK(v.plan().empty());
}

TEST_CASE("copy plan: the last complete copies are never dropped, whatever is on the way") {
  small_view v(4, {0}, 2);
  v.places();
  v.image(0);
  v.image(1);
  v.filling(2, 0, 0, 4);
  CHECK(v.plan() == "-2");
  CHECK(v.plan({to_node(2)}).empty());
  v[1].leaving = true;
  CHECK(v.plan().empty());
  v[2].images[0].ready = 5;
  CHECK(v.plan() == "-1");  // it leaves, and others have them
}

TEST_CASE("copy plan: images stay where an engine has them, or a needed transfer comes over them") {
  small_view v(4);
  v.image(0);
  v.image(1);
  v.filling(2, 1);
  for (const auto stage :
       {instance_stage::loading, instance_stage::serving, instance_stage::draining, instance_stage::parked}) {
    v.view.places.clear();
    v.place(0, 0, stage);
    CHECK(v.plan({to_node(2)}).empty());
    CHECK(v.plan({to_node(1), to_node(2)}).empty());
  }
  v.view.places[0].stage = instance_stage::idle;
  CHECK(v.plan({to_node(2)}) == "-0");
  CHECK(v.plan({to_node(0), to_node(2)}).empty());
  v.view.copies = 2;
  v.filling(3, 2);
  v.view.copies = 1;
  CHECK(v.plan({to_node(3)}) == "-0");  // over 1 and 2
  CHECK(v.plan({to_node(0)}) == "-1");  // 2 and 3 are not needed
  CHECK(v.plan({to_node(0), to_node(1)}) == "-2");
}

TEST_CASE("copy plan: images are dropped first where a target waits for room") {
  small_view v(3, {0, 1});
  v.places(0).places(1);
  for (const uint32_t n : {0, 1, 2}) v.image(n);
  v[1].capacity = 15 * megabyte;
  v[2].capacity = 11 * megabyte;
  v.view.models[1].bytes = 8 * megabyte;
  CHECK(v.plan() == "1:0>0, -2");
  CHECK(v.plan({to_node(1, 1)}) == "-1");
}

TEST_CASE("copy plan: a node with a problem gets nothing, and forgets it when nobody is missing") {
  small_view v(3, {1}, 1);
  v.places();
  v.image(0, 0, 2).problem = "no checkpoint";
  CHECK(v.plan({to_node(0)}) == "1>1");
  v.image(1);
  CHECK(v.plan().empty());  // an instance is missing
  v.view.places[1].stage = instance_stage::serving;
  CHECK(v.plan() == "-0");
  v.view.copies = 2;
  CHECK(v.plan() == "1>2");
}

TEST_CASE("copy plan: files of a tensor model are read where the disk has them, and wait without it") {
  constexpr auto files = weights_of(model_id{2});
  small_view v(3, {});
  v.view.copies = 2;  // of language models
  v.view.models.push_back({files, "m", 0, 640});
  const auto lists = [&](uint32_t node, uint64_t on_disk) -> image_state& {
    auto& i = v[node].images.emplace_back();
    i.model = files;
    i.on_disk = on_disk;
    return i;
  };
  cluster_spec plain;
  plain.nodes.resize(3);
  std::vector<copy_target> wanted;
  const auto plan = [&] { return plan_copies(v.view, wanted, link_rates(plain)); };
  lists(0, 0);
  wanted.push_back({node_id{0}, files});
  CHECK(plan().places.empty());
  lists(1, 600);  // others of that name
  wanted.push_back({node_id{1}, files});
  CHECK(plan().places.empty());
  lists(2, 640);
  wanted.push_back({node_id{2}, files});
  auto places = plan().places;
  REQUIRE(places.size() == 3);
  CHECK(places[0] == copy_place{node_id{2}, files, node_id{2}});
  CHECK(places[1].from == node_id{2});
  CHECK(places[1].bytes == 640);
  CHECK(places[2].from == places[1].node);
  auto& whole = v[2].images.back();
  whole.chunks = whole.ready = 5;
  whole.bytes = 640;
  places = plan().places;
  REQUIRE(places.size() == 2);
  CHECK(places[0].from == node_id{2});
  CHECK(plan().drops.empty());
  auto& part = v[0].images.back();  // its sources have died
  part.chunks = 5, part.ready = 3, part.bytes = 640;
  whole = {};
  whole.model = files;
  whole.on_disk = 640;
  places = plan().places;
  REQUIRE(places.size() == 3);
  CHECK(places[0] == copy_place{node_id{2}, files, node_id{2}});
  CHECK(plan().drops.empty());
}

TEST_CASE("copy plan: engines get no room from files of tensor models") {
  small_view v(1, {1});
  v.places();
  auto& files = v[0].images.emplace_back();
  files.model = weights_of(model_id{0});
  files.chunks = files.ready = 1;
  files.bytes = 95 * megabyte;
  v.view.copies = 0;
  CHECK(v.choose() == "short of 0");
}

TEST_CASE("copy plan: all_cache gives every node with a place a copy") {
  small_view v(4);
  v.view.policy = scaling_policy::all_cache;
  v.place(0);
  v.place(2);
  v.place(3);
  v.image(0);
  CHECK(v.plan() == "0>2, 2>3");
  v.image(2);
  v.image(3);
  CHECK(v.plan() == "");
  v[3].capacity = 15 * megabyte;
  SUBCASE("a copy goes where a target waits for room") {
    v.view.models.push_back({weights_id{1}, "1", 1, 10 * megabyte});
    v.image(1, 1);
    CHECK(v.plan({to_node(3, 1)}) == "-3");
  }
  SUBCASE("nothing goes without need") { CHECK(v.plan() == ""); }
  SUBCASE("nor an image with a problem, which would come again") {
    v[2].images[0].problem = "no memory";
    v[2].images[0].bytes = 0;
    CHECK(v.plan() == "");
  }
}

TEST_CASE("copy plan: serverless nodes read their disks, and keep images for a time") {
  small_view v(3, {1, 1, 1}, 0);
  v.view.policy = scaling_policy::serverless;
  v.view.keep = 5min;
  CHECK(v.plan({to_node(1), to_node(2)}) == "1>1, 2>2");
  v.image(0);
  CHECK(v.plan({to_node(1)}) == "1>1");
  v[0].unused[weights_id{0}] = 4min;
  CHECK(v.plan() == "");
  v[0].unused[weights_id{0}] = 5min;
  CHECK(v.plan() == "-0");
  SUBCASE("an engine has them") {
    v.place(0, 0, instance_stage::parked);
    CHECK(v.plan() == "");
  }
  SUBCASE("where there is no room, those go that were not used for the longest time") {
    v[0].capacity = 25 * megabyte;
    v.image(0, 1);
    v[0].unused = {{weights_id{0}, 1min}, {weights_id{1}, 2min}};
    CHECK(v.plan({to_node(0, 2)}) == "1:-0");
    v[0].going.push_back(v[0].images[1]);
    v[0].images.pop_back();
    CHECK(v.plan({to_node(0, 2)}) == "");  // that is enough
  }
}
