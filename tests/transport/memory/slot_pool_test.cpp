#include "transport/memory/slot_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "transport/memory/pull_check.hpp"

using namespace troupe;

namespace {

struct pool_fixture {
  std::vector<std::byte> pull(const region_ref& r) const {
    const auto slot = memory.subspan(r.offset, pulled_bytes(r));
    return {slot.begin(), slot.end()};
  }
  static constexpr size_t bytes = 1u << 20;
  std::unique_ptr<std::byte, void (*)(void*)> owned{static_cast<std::byte*>(std::aligned_alloc(4096, bytes)),
                                                    &std::free};
  std::span<std::byte> memory{owned.get(), bytes};
  slot_pool pool{node_id{3}, incarnation_id{9}, {memory, memory_kind::host}};
};

}  // namespace

TEST_CASE("a reader verifies the bytes written into a slot") {
  pool_fixture f;
  for (uint64_t size : {0u, 1u, 7u, 8u, 9u, 64u, 1000u, 100'000u}) {
    auto s = f.pool.take(size);
    REQUIRE(s);
    CHECK(s->payload.size() == size);
    CHECK(s->region.node == node_id{3});
    CHECK(s->region.owner == incarnation_id{9});
    if (size != 0) CHECK(reinterpret_cast<uintptr_t>(s->payload.data()) % 64 == 0);
    std::ranges::fill(s->payload, std::byte{0xab});
    const auto pulled = f.pull(s->region);
    const auto payload = verify(s->region, pulled);
    REQUIRE(payload);
    CHECK(payload->size() == size);
    CHECK(std::ranges::all_of(*payload, [](std::byte b) { return b == std::byte{0xab}; }));
  }
}

TEST_CASE("a region is stale as soon as its slot is released, and stays so") {
  pool_fixture f;
  const auto first = f.pool.take(5000);
  const auto copied = f.pull(first->region);
  CHECK(f.pool.give_back(first->region));
  CHECK(!verify(first->region, f.pull(first->region)));
  const auto second = f.pool.take(5000);
  CHECK(second->region.offset == first->region.offset);
  CHECK(!verify(first->region, f.pull(first->region)));
  CHECK(verify(second->region, f.pull(second->region)));
  CHECK(verify(first->region, copied));  // a copy made in time stays valid
}

TEST_CASE("only a slot's own region releases it, and only once") {
  pool_fixture f;
  const auto s = f.pool.take(100);
  auto other = s->region;
  ++other.generation;
  CHECK(!f.pool.give_back(other));
  other = s->region;
  other.owner = incarnation_id{8};
  CHECK(!f.pool.give_back(other));
  other = s->region;
  other.node = node_id{4};
  CHECK(!f.pool.give_back(other));
  other = s->region;
  other.offset += 64;
  CHECK(!f.pool.give_back(other));
  CHECK(!f.pool.give_back({}));
  CHECK(f.pool.slots() == 1);
  CHECK(f.pool.give_back(s->region));
  CHECK(!f.pool.give_back(s->region));
  CHECK(f.pool.slots() == 0);
  CHECK(f.pool.in_use() == 0);
}

TEST_CASE("slots of the previous incarnation stay valid until they are released") {
  pool_fixture f;
  const auto old = f.pool.take(100);
  f.pool.renew(incarnation_id{10});
  const auto young = f.pool.take(100);
  CHECK(young->region.owner == incarnation_id{10});
  CHECK(verify(old->region, f.pull(old->region)));
  CHECK(verify(young->region, f.pull(young->region)));
  CHECK(f.pool.give_back(old->region));
  CHECK(!verify(old->region, f.pull(old->region)));
}

TEST_CASE("a mixture of two occupants is refused at either end") {
  pool_fixture f;
  const auto s = f.pool.take(1000);
  auto pulled = f.pull(s->region);
  pulled[8] ^= std::byte{1};
  CHECK(!verify(s->region, pulled));
  pulled = f.pull(s->region);
  pulled[pulled.size() - 1] ^= std::byte{1};
  CHECK(!verify(s->region, pulled));
  pulled = f.pull(s->region);
  pulled.pop_back();
  CHECK(!verify(s->region, pulled));
}

TEST_CASE("a full pool reports it, and is complete again after all releases") {
  pool_fixture f;
  CHECK(!f.pool.take(2u << 20));
  CHECK(!f.pool.take(~uint64_t{0}));
  std::vector<region_ref> taken;
  while (auto s = f.pool.take(10'000)) taken.push_back(s->region);
  CHECK(taken.size() == (1u << 20) / 10'048);
  std::ranges::shuffle(taken, std::mt19937(1));
  for (const auto& r : taken) CHECK(f.pool.give_back(r));
  CHECK(f.pool.take((1u << 20) - 128));
}

TEST_CASE("a pool takes memory only as far as its slots were in use at once") {
  constexpr size_t bytes = 64u << 20;
  const std::unique_ptr<std::byte, void (*)(void*)> owned{
      static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), &std::free};
  slot_pool pool(node_id{3}, incarnation_id{9}, {{owned.get(), bytes}, memory_kind::host});
  CHECK(pool.present() < 4096);
  CHECK(!pool.take(65u << 20));
  CHECK(pool.present() < 4096);

  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {  // ten slots of up to 100 KB at once, of many sizes
    std::vector<region_ref> live;
    for (int i = 0; i < 10; ++i) live.push_back(pool.take(random() % 100'000)->region);
    for (const auto& r : live) CHECK(pool.give_back(r));
  }
  CHECK(pool.present() < 3u << 20);

  const auto large = pool.take(30u << 20);
  REQUIRE(large);
  CHECK(pool.present() < 34u << 20);
  std::ranges::fill(large->payload, std::byte{1});
  CHECK(!pool.take(40u << 20));
  CHECK(pool.give_back(large->region));
  CHECK(pool.take(bytes - 128));
  CHECK(pool.present() > bytes - 128);
}

TEST_CASE("slots never overlap, for any order of takes and releases") {
  pool_fixture f;
  std::mt19937 random(7);
  std::vector<slot> live;
  for (int step = 0; step < 20'000; ++step) {
    if (live.empty() || random() % 2 == 0) {
      auto s = f.pool.take(random() % (random() % 8 == 0 ? 60'000 : 900));
      if (!s) continue;
      std::ranges::fill(s->payload, static_cast<std::byte>(s->region.generation));
      live.push_back(*s);
    } else {
      const size_t i = random() % live.size();
      const auto pulled = f.pull(live[i].region);
      const auto payload = verify(live[i].region, pulled);
      REQUIRE(payload);
      const auto fill = static_cast<std::byte>(live[i].region.generation);
      REQUIRE(std::ranges::all_of(*payload, [&](std::byte b) { return b == fill; }));
      REQUIRE(f.pool.give_back(live[i].region));
      live[i] = live.back();
      live.pop_back();
    }
  }
  for (const auto& s : live) REQUIRE(f.pool.give_back(s.region));
  CHECK(f.pool.in_use() == 0);
}

TEST_CASE("threads take slots while others release them") {
  pool_fixture f;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 3000; ++i) {
        if (const auto s = f.pool.take((i * 37 + static_cast<uint64_t>(t)) % 5000)) {
          std::ranges::fill(s->payload, static_cast<std::byte>(t));
          f.pool.give_back(s->region);
        }
      }
    });
  }
  for (auto& t : threads) t.join();
  CHECK(f.pool.slots() == 0);
  CHECK(f.pool.take((1u << 20) - 128));
}
