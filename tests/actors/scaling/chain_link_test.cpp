#include "actors/scaling/chain_link.hpp"

#include "tests/actors/scaling/link_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("chain link: it pulls chunks in their order, a window at a time, and is done with the last one") {
  link_stage s;
  const auto number = s.follow(first_source);
  CHECK(s.memory.byte_pulls.empty());
  s.announce(first_source, number, 0, tiny_chunks);
  CHECK(s.under_way() == chunk_numbers{0, 1});
  CHECK(s.memory.byte_pulls[0].peer == first_source);
  CHECK(s.memory.byte_pulls[0].into.size() == tiny_chunk_bytes);
  s.end_pull();
  CHECK(s.under_way() == chunk_numbers{1, 2});
  CHECK(s.images->chunks_ready() == 1);
  CHECK(s.state().from == "n4");
  CHECK(s.state().in_flight == 2);
  s.end_all_pulls();
  CHECK(s.images_are_whole());
  for (uint32_t c = 0; c < tiny_chunks; ++c) CHECK(s.images->hash(c) == hash_of(*s.images, c));
  const auto said = s.told();
  CHECK_FALSE(said.busy);
  CHECK_FALSE(said.linked);
  CHECK(said.pulled == 29);
  CHECK(said.repeated == 0);
  CHECK(s.images.use_count() == 1);
  CHECK(s.value_of("troupe_chain_bytes_pulled_total") == 29);
  CHECK(s.state().chunks == 0);
}

TEST_CASE("chain link: chunks become ready in their order, although pulls end in another one") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, 3);
  s.end_pull(1);
  CHECK(s.under_way() == chunk_numbers{0, 2});
  CHECK(s.images->chunks_ready() == 0);
  s.end_pull(1);
  s.end_pull(0);
  CHECK(s.images->chunks_ready() == 3);
  CHECK(s.images->ready() == 1);
}

TEST_CASE("chain link: it pulls what is announced while it pulls") {
  link_stage s;
  const auto number = s.follow(first_source);
  s.announce(first_source, number, 0, 1);
  CHECK(s.under_way() == chunk_numbers{0});
  s.announce(first_source, number, 1, 2);
  CHECK(s.under_way() == chunk_numbers{0, 1});
  s.announce(first_source, number, 2, 5);
  CHECK(s.under_way().size() == 2);
  s.end_all_pulls();
  CHECK(s.images->chunks_ready() == 5);
  s.announce(first_source, number, 5, 8);
  s.end_all_pulls();
  CHECK(s.images_are_whole());
}

TEST_CASE("chain link: a chunk with a wrong hash is pulled again, and never ready") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, 2);
  s.end_pull(0, pull_status::ok, true);
  CHECK(s.images->chunks_ready() == 0);
  s.end_pull();  // the next one is right
  CHECK(s.images->chunks_ready() == 0);
  CHECK(s.memory.byte_pulls.empty());
  s.run_until(s.now + 19ms);
  CHECK(s.memory.byte_pulls.empty());
  s.run_until(s.now + 1ms);
  CHECK(s.under_way() == chunk_numbers{0});
  s.end_pull(0, pull_status::ok, true);
  CHECK(s.images->chunks_ready() == 0);
  s.run_until(s.now + 20ms);
  s.end_pull();
  CHECK(s.images->chunks_ready() == 2);
  CHECK(s.state().damaged == 2);
  CHECK(s.state().repeated == 8);
  CHECK(s.state().pulled == 8);
}

TEST_CASE("chain link: after a pull that failed it waits, then pulls the same chunk again") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, tiny_chunks);
  s.end_pull(0, pull_status::lost);
  CHECK(s.under_way() == chunk_numbers{1});
  s.end_pull();
  CHECK(s.under_way().empty());
  s.run_until(s.now + 20ms);
  CHECK(s.under_way() == chunk_numbers{0, 2});
  s.end_all_pulls();
  CHECK(s.images_are_whole());
  CHECK(s.told().repeated == 4);
}

TEST_CASE("chain_link: without memory of the machine it pulls nothing, and the images have failed") {
  link_stage s;
  const auto number = s.follow(first_source);
  s.store.machine_has_memory = false;
  s.announce(first_source, number, 0, tiny_chunks);
  CHECK(s.memory.byte_pulls.empty());
  CHECK(s.images->failed());
  const auto told = s.told();
  CHECK(!told.linked);
  CHECK(!told.busy);
}

TEST_CASE("chain link: it measures what its sources reach, from pulls that end, and tells the shard") {
  constexpr auto layer = std::to_array<uint64_t>({3 * measured_rate::sample_bytes});
  link_stage s;
  s.store.forget({0});
  s.store.layer_bytes = layer;
  s.store.chunk_bytes = measured_rate::sample_bytes / 2;
  s.images = s.store.create({0}, 0);
  const auto gbit_per_s = [&](duration chunk) {
    return static_cast<double>(s.store.chunk_bytes) * 8 / static_cast<double>(chunk.count());
  };
  const auto measured = [&] { return s.out.take_addressed<rate_measured>(); };
  s.pull_time = 4ms;
  const auto number = s.follow(first_source);
  s.run_until(s.now + 1s);  // it has nothing to give
  s.announce(first_source, number, 0, 1);
  s.end_pull();
  CHECK(measured().empty());
  s.run_until(s.now + 1s);
  s.announce(first_source, number, 1, 3);
  s.end_pull();
  CHECK(measured().empty());  // the other one may end together with it
  s.end_pull(0, pull_status::ok, true);
  const auto told = measured();
  REQUIRE(told.size() == 1);
  CHECK(told[0].first == address{worker_node, {}, role::parameter_shard, 0});
  CHECK(told[0].second.from == first_source);
  CHECK(told[0].second.gbit_per_s == doctest::Approx(gbit_per_s(4ms)));
  s.pull_time = 1ms;
  s.announce(second_source, s.follow(second_source, 2), 2, 6);
  s.end_all_pulls();
  const auto later = measured();
  REQUIRE(later.size() == 2);
  CHECK(later[0].second.from == second_source);
  CHECK(later[1].second.gbit_per_s == doctest::Approx(gbit_per_s(1ms)));
}

TEST_CASE("chain link: two models that come from one source share its link, and are measured together") {
  constexpr auto layer = std::to_array<uint64_t>({2 * measured_rate::sample_bytes});
  const auto flows = std::make_shared<source_flows>();
  link_stage one(2, flows), other(2, flows);
  std::vector<double> rates;
  for (auto* s : {&one, &other}) {
    s->store.forget({0});
    s->store.layer_bytes = layer;
    s->store.chunk_bytes = measured_rate::sample_bytes / 4;
    s->images = s->store.create({0}, 0);
    s->announce(first_source, s->follow(first_source), 0, 8);
  }
  // A chunk of one, and then a chunk of the other: each takes 4 ms of the link.
  for (int chunk = 0; chunk < 16; ++chunk) {
    auto &s = chunk % 2 == 0 ? one : other, &idle = chunk % 2 == 0 ? other : one;
    s.pull_time = 4ms;
    s.end_pull();
    idle.now = s.now;
    for (const auto& [_, m] : s.out.take_addressed<rate_measured>()) rates.push_back(m.gbit_per_s);
  }
  CHECK(rates.size() == 4);
  for (const auto rate : rates)
    CHECK(rate == doctest::Approx(static_cast<double>(one.store.chunk_bytes) * 8 / 4e6));
}
