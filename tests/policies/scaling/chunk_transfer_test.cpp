#include "policies/scaling/chunk_transfer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "policies/common/random.hpp"

using namespace troupe;

namespace {

const std::vector<uint64_t> layer_bytes{10, 0, 25, 4};  // chunks of 10: 0 | 1, 2, 3 | 4

chunk_transfer small_transfer(uint32_t window = 2) {
  return {chunks_of(layer_bytes, 10), static_cast<uint32_t>(layer_bytes.size()), window};
}

std::vector<uint32_t> all_next(chunk_transfer& t) {
  std::vector<uint32_t> out;
  while (const auto c = t.next()) out.push_back(*c);
  return out;
}

}  // namespace

TEST_CASE("chunks: images are cut in the order of layers, without gaps") {
  const auto chunks = chunks_of(layer_bytes, 10);
  REQUIRE(chunks.size() == 5);
  CHECK(chunks[3].layer == 2);
  CHECK(chunks[3].offset == 20);
  CHECK(chunks[3].bytes == 5);
  CHECK(chunks[4].layer == 3);
  CHECK(chunks_of({}, 10).empty());
}

TEST_CASE("chunk transfer: announced chunks are pulled in order, a window at a time") {
  auto t = small_transfer();
  CHECK(!t.next());
  t.announce(3);
  CHECK(all_next(t) == std::vector<uint32_t>{0, 1});
  t.ended(1, chunk_outcome::good);
  CHECK(t.ready() == 0);  // the first one is missing
  CHECK(all_next(t) == std::vector<uint32_t>{2});
  t.ended(0, chunk_outcome::good);
  CHECK(t.ready() == 2);
  CHECK(all_next(t).empty());  // nothing else is announced
  t.announce(5);
  t.announce(4);  // announcements that overtake each other take nothing back
  CHECK(all_next(t) == std::vector<uint32_t>{3});
  t.ended(2, chunk_outcome::good);
  CHECK(all_next(t) == std::vector<uint32_t>{4});
}

TEST_CASE("chunk transfer: a layer is ready when its last chunk and all before it are here") {
  auto t = small_transfer(5);
  t.announce(5);
  all_next(t);
  CHECK(t.layers_ready() == 0);
  t.ended(0, chunk_outcome::good);
  CHECK(t.layers_ready() == 2);  // the second one has no bytes
  for (const uint32_t c : {1, 2, 3}) t.ended(c, chunk_outcome::good);
  CHECK(t.layers_ready() == 3);
  CHECK(!t.complete());
  t.ended(4, chunk_outcome::good);
  CHECK(t.layers_ready() == 4);
  CHECK(t.complete());
  CHECK(t.bytes_arrived() == 39);
  CHECK(t.bytes_repeated() == 0);
}

TEST_CASE("chunk transfer: damaged and lost chunks are pulled again, and only those") {
  auto t = small_transfer();
  t.announce(5);
  all_next(t);
  t.ended(0, chunk_outcome::damaged);
  CHECK(all_next(t) == std::vector<uint32_t>{0});
  t.ended(1, chunk_outcome::lost);
  CHECK(all_next(t) == std::vector<uint32_t>{1});
  t.ended(0, chunk_outcome::good);
  CHECK(all_next(t) == std::vector<uint32_t>{2});
  CHECK(t.damaged() == 1);
  CHECK(t.bytes_repeated() == 20);
}

TEST_CASE("chunk transfer: after a new link nothing is pulled that is here or still in flight") {
  auto t = small_transfer(3);
  t.announce(5);
  CHECK(all_next(t) == std::vector<uint32_t>{0, 1, 2});
  t.ended(0, chunk_outcome::good);
  t.ended(2, chunk_outcome::good);
  t.relink();
  CHECK(!t.next());
  t.announce(2);
  CHECK(!t.next());  // chunk 1 is still written by the old pull
  t.ended(1, chunk_outcome::lost);
  CHECK(all_next(t) == std::vector<uint32_t>{1});
  t.announce(5);
  CHECK(all_next(t) == std::vector<uint32_t>{3, 4});
  CHECK(t.bytes_repeated() == 10);
}

TEST_CASE("chunk transfer: chunks that are here at the beginning are not pulled") {
  chunk_transfer t(chunks_of(layer_bytes, 10), 4, 5, 2);
  CHECK(t.ready() == 2);
  CHECK(t.layers_ready() == 2);
  CHECK(t.bytes_arrived() == 0);
  CHECK(!t.next());
  t.announce(5);
  CHECK(all_next(t) == std::vector<uint32_t>{2, 3, 4});
  for (const uint32_t c : {4, 2, 3}) t.ended(c, chunk_outcome::good);
  CHECK(t.complete());
  CHECK(t.bytes_arrived() == 19);
  CHECK(t.bytes_repeated() == 0);
}

TEST_CASE("chunk transfer: with all chunks here it is complete") {
  chunk_transfer t(chunks_of(layer_bytes, 10), 4, 5, 5);
  CHECK(t.complete());
  CHECK(t.layers_ready() == 4);
  t.announce(5);
  CHECK(!t.next());
}

TEST_CASE("chunk transfer: with random ends it completes, and repeats a window at most for each break") {
  random_stream random(3, "chunks");
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<uint64_t> layers;
    for (uint64_t i = 0, n = 1 + random.below(6); i < n; ++i) layers.push_back(random.below(100));
    const auto chunks = chunks_of(layers, 10);
    const auto window = 1 + static_cast<uint32_t>(random.below(4));
    chunk_transfer t(chunks, static_cast<uint32_t>(layers.size()), window);
    uint64_t breaks = 0, damaged = 0;
    std::set<uint32_t> flying, here;
    for (int step = 0; !t.complete() && step < 100'000; ++step) {
      t.announce(static_cast<uint32_t>(random.below(chunks.size() + 1)));
      while (const auto c = t.next()) {
        CHECK(!here.contains(*c));
        CHECK(flying.insert(*c).second);
      }
      CHECK(flying.size() <= window);
      CHECK(t.in_flight() == flying.size());
      if (flying.empty()) continue;
      if (random.below(20) == 0) {  // the link breaks
        ++breaks;
        for (const auto c : flying) t.ended(c, chunk_outcome::lost);
        flying.clear();
        t.relink();
        continue;
      }
      auto at = flying.begin();
      std::advance(at, static_cast<ptrdiff_t>(random.below(flying.size())));
      const bool good = random.below(10) > 0;
      damaged += good ? 0 : 1;
      t.ended(*at, good ? chunk_outcome::good : chunk_outcome::damaged);
      if (good) here.insert(*at);
      flying.erase(at);
    }
    CHECK(t.complete());
    CHECK(here.size() == chunks.size());
    CHECK(t.damaged() == damaged);
    CHECK(t.bytes_repeated() <= (breaks * window + damaged) * 10);
    uint64_t all = 0;
    for (const auto b : layers) all += b;
    CHECK(t.bytes_arrived() == all);
  }
}
