#include "actors/scaling/parameter_shard.hpp"

#include "tests/actors/scaling/shard_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("parameter shard: images come from a peer over the link, until they are complete") {
  shard_stage s;
  s.place(first_source);
  const auto order = s.begun(first_source);
  const auto images = s.images();
  REQUIRE(images);
  auto told = s.told();
  CHECK(told.filling);
  CHECK(told.from == first_source);
  CHECK(told.chunks == tiny_chunks);
  CHECK(told.ready == 0);
  CHECK(told.bytes == 192);
  s.say(order, true, true, first_source);
  s.place(first_source);  // repeated
  CHECK(s.out.take<begin_link>().empty());
  while (!images->complete()) s.write_chunk(*images);
  CHECK(s.notified == tiny_chunks);
  s.say(order, false, false);
  told = s.told();
  CHECK(told.complete());
  CHECK_FALSE(told.filling);
  CHECK(told.pulled == 8);
  CHECK(told.repeated == 4);
  s.place(second_source);
  CHECK(s.out.take<begin_link>().empty());
  CHECK(s.state().in_use == 192);
  CHECK(s.value_of("troupe_parameter_bytes") == 192);
  CHECK(s.value_of("troupe_parameter_capacity_bytes") == 1000);
}

TEST_CASE("parameter shard: images from a peer are complete together with the count of their bytes") {
  shard_stage s;
  s.place(first_source);
  const auto order = s.begun(first_source);
  s.say(order, true, true, first_source);
  while (!s.images()->complete()) s.write_chunk(*s.images());
  auto told = s.told();
  CHECK_FALSE(told.complete());
  CHECK(told.ready == tiny_chunks - 1);
  CHECK(told.filling);
  CHECK(told.from == first_source);
  s.deliver(link_changed{{0}, order, false, false, {}, 29, 0});
  const auto news = s.out.one<shard_inventory>();  // at once
  REQUIRE(news.images.size() == 1);
  CHECK(news.images[0].complete());
  CHECK(news.images[0].pulled == 29);
  CHECK_FALSE(news.images[0].filling);
}

TEST_CASE("parameter shard: images come from the own checkpoint") {
  shard_stage s;
  s.place(worker_node);
  REQUIRE(s.store.reads.size() == 1);
  CHECK(s.store.reads[0].get() == s.images());
  auto told = s.told();
  CHECK(told.filling);
  CHECK(told.from == worker_node);
  s.place(worker_node);
  s.place(first_source);  // the reader is their writer
  CHECK(s.store.reads.size() == 1);
  CHECK(s.out.take<begin_link>().empty());
  SUBCASE("it ends") {
    write_all_chunks(*s.store.reads[0]);
    s.deliver(images_changed{});
    CHECK(s.told().complete());
  }
  SUBCASE("it fails") {
    s.store.reads[0]->fail("the disk is gone");
    s.deliver(images_changed{});
    told = s.told();
    CHECK_FALSE(told.filling);
    CHECK(told.problem == "the disk is gone");
    s.drop();
    s.store.reads.clear();
    s.place(worker_node);  // from the beginning
    CHECK(s.store.reads.size() == 1);
    CHECK(s.told().problem.empty());
  }
}

TEST_CASE("parameter shard: a reader takes over only when the link writes no more") {
  shard_stage s;
  s.place(first_source);
  const auto order = s.begun(first_source);
  s.say(order, true, true, first_source);
  s.place(worker_node);
  const auto end = s.out.one<end_link>();
  CHECK(end.order > order);
  CHECK(s.told().from == worker_node);
  s.say(end.order, true, false);
  CHECK(s.store.reads.empty());
  s.place(worker_node);
  CHECK(s.out.take<end_link>().empty());
  s.say(end.order, false, false);
  CHECK(s.store.reads.size() == 1);
}

TEST_CASE("parameter shard: what the link said before it knew the latest order is void") {
  shard_stage s;
  s.place(first_source);
  const auto former = s.begun(first_source);
  s.say(former, true, true, first_source);
  s.place(second_source);
  const auto order = s.begun(second_source);
  s.say(former, false, false);  // it has lost its first source
  CHECK(s.told().from == second_source);
  s.place(worker_node);  // the link may be about to pull from the second one
  CHECK(s.store.reads.empty());
  const auto end = s.out.one<end_link>();
  s.say(order, false, false);
  CHECK(s.store.reads.empty());
  s.say(end.order, false, false);
  CHECK(s.store.reads.size() == 1);
}

TEST_CASE("parameter shard: images whose link has lost its source wait for an order") {
  shard_stage s;
  s.place(first_source);
  const auto order = s.begun(first_source);
  s.say(order, true, true, first_source);
  s.write_chunk(*s.images());
  s.say(order, true, false);
  const auto told = s.told();
  CHECK_FALSE(told.filling);
  CHECK(told.ready == 1);
  s.place(first_source);  // its new incarnation, perhaps
  s.begun(first_source);
  CHECK(s.told().filling);
}

TEST_CASE("parameter shard: without room, or with a damaged checkpoint, it reports the problem") {
  shard_stage s;
  s.store.full = true;
  s.place(first_source);
  auto told = s.told();
  CHECK(told.problem.find("no room") != std::string::npos);
  CHECK(told.chunks == 0);
  CHECK(s.out.silent());
  s.store.full = false;
  s.store.problem = "config.json: is cut off";
  s.place(first_source);
  CHECK(s.told().problem == "config.json: is cut off");
  s.store.problem.clear();
  s.place(first_source);
  s.begun(first_source);
  CHECK(s.told().problem.empty());
}

TEST_CASE("parameter shard: a checkpoint that cannot be opened for reading is a problem of the images") {
  shard_stage s;
  s.place(first_source);
  const auto order = s.begun(first_source);
  s.store.problem = "no such folder";
  s.place(worker_node);
  s.say(s.out.one<end_link>().order, false, false);
  CHECK(order == 1);
  const auto told = s.told();
  CHECK(told.problem == "no such folder");
  CHECK_FALSE(told.filling);
}

TEST_CASE("parameter shard: dropped images end the link, and leave the inventory") {
  shard_stage s;
  s.place(first_source);
  const auto order = s.begun(first_source);
  s.told();
  s.say(order, true, true, first_source);
  s.drop();
  const auto end = s.out.one<end_link>();
  CHECK(s.inventory().images.empty());
  CHECK(s.images() == nullptr);
  SUBCASE("they come again, while the link still pulls") {
    s.place(second_source);
    const auto next = s.begun(second_source);
    CHECK(next > end.order);
    s.say(end.order, true, false);
    CHECK(s.told().from == second_source);
    s.say(next, true, true, second_source);
    CHECK(s.out.take<begin_link>().empty());
  }
  SUBCASE("the checkpoint waits for the link") {
    s.place(worker_node);
    const auto again = s.out.one<end_link>();
    s.say(end.order, false, false);
    CHECK(s.store.reads.empty());
    s.say(again.order, false, false);
    CHECK(s.store.reads.size() == 1);
  }
  s.drop(), s.drop();  // nothing is left
}

TEST_CASE("parameter shard: images that are still being read are not given to a second writer") {
  shard_stage s;
  s.place(worker_node);
  REQUIRE(s.store.reads.size() == 1);
  s.drop();
  s.place(first_source);
  CHECK(s.out.take<begin_link>().empty());
  CHECK(s.images() == s.store.reads[0].get());
  const auto told = s.told();
  CHECK(told.filling);
  CHECK(told.from == worker_node);
  write_all_chunks(*s.store.reads[0]);
  s.deliver(images_changed{});
  CHECK(s.told().complete());
}

TEST_CASE("parameter shard: orders of a deposed leader are ignored") {
  shard_stage s;
  s.place(first_source, 5);
  s.out.forget();
  s.place(second_source, 4);
  s.drop(4);
  CHECK(s.out.silent());
  CHECK(s.images() != nullptr);
  s.drop(5);
  CHECK(s.images() == nullptr);
}

TEST_CASE("parameter shard: it reports at most every 50 ms, only news, and all to a pool that comes up") {
  shard_stage s;
  s.place(worker_node);
  const auto first = s.out.take_addressed<shard_inventory>();
  REQUIRE(first.size() == 1);
  CHECK(first[0].first == address{scheduler_node, {}, role::parameter_pool, 0});
  for (int i = 0; i < 3; ++i) s.write_chunk(*s.images());
  s.run_until(s.now + 49ms);
  CHECK(s.out.silent());
  s.run_until(s.now + 1ms);
  CHECK(s.out.one<shard_inventory>().images[0].ready == 3);
  s.deliver(images_changed{});  // nothing has changed
  s.run_until(s.now + 1s);
  CHECK(s.out.silent());
  CHECK(s.actor.next_wakeup() == never);
  s.deliver(node_up{gateway_node, {11}});
  CHECK(s.out.silent());
  s.deliver(node_up{other_pool, {60}});
  CHECK(s.out.take<shard_inventory>().size() == 2);
  s.deliver(node_down{scheduler_node, {10}});
  s.deliver(node_up{scheduler_node, {20}});
  CHECK(s.out.silent());
  s.run_until(s.now + 50ms);
  CHECK(s.out.take<shard_inventory>().size() == 2);
}

TEST_CASE("parameter shard: orders of former leaders are ignored as soon as it hears of a new one") {
  shard_stage s;
  s.place(first_source, 3);
  s.begun(first_source);
  CHECK(s.inventory().term == term_id{3});
  s.deliver(leadership{{5}, other_pool, {20}});
  CHECK(s.inventory().term == term_id{5});  // which the new leader waits for
  s.drop(4);
  s.place(second_source, 4);
  CHECK(s.out.take_addressed<begin_link>().empty());
  CHECK(s.state().models == 1);
  s.deliver(leadership{{4}, scheduler_node, {10}});
  s.drop(4);
  CHECK(s.state().models == 1);
  s.drop(5);
  CHECK(s.state().models == 0);
}

TEST_CASE("parameter shard: the inventory has the latest rate of each peer") {
  shard_stage s;
  s.deliver(rate_measured{second_source, 20});
  s.deliver(rate_measured{first_source, 10});
  s.deliver(rate_measured{first_source, 12});
  const std::vector<peer_rate> rates{{first_source, 12}, {second_source, 20}};
  CHECK(s.inventory().rates == rates);
  s.deliver(node_up{other_pool, {60}});  // it may lead later
  const auto told = s.out.take_addressed<shard_inventory>();
  CHECK(told.empty());
  CHECK(s.inventory().rates == rates);
}

TEST_CASE("parameter shard: the inventory has the rate at which the reader fills images") {
  constexpr auto layer = std::to_array<uint64_t>({4 * measured_rate::sample_bytes});
  shard_stage s;
  s.store.layer_bytes = layer;
  s.store.chunk_bytes = measured_rate::sample_bytes;
  s.place(worker_node);
  CHECK(s.inventory().disk_gbit_per_s == 0);
  const auto began = s.now - 50ms;
  s.run_until(began + 100ms);
  s.write_chunk(*s.images());
  const auto rate = static_cast<double>(measured_rate::sample_bytes) * 8 / 1e8;
  CHECK(s.inventory().disk_gbit_per_s == doctest::Approx(rate));
  s.drop();
  s.store.reads.clear();
  s.run_until(s.now + 10s);
  CHECK(s.inventory().disk_gbit_per_s == doctest::Approx(rate));
  s.place(first_source);  // the link fills the next images
  const auto order = s.begun(first_source);
  s.run_until(s.now + 1s);
  s.write_chunk(*s.images());
  s.say(order, true, true, first_source);
  CHECK(s.inventory().disk_gbit_per_s == doctest::Approx(rate));
}
