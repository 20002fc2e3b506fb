#include "gpu/llm/emulated_kv_cache.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

using namespace troupe::llm;

namespace {

/// Four blocks of four positions; a sequence of ten has the blocks 2, 0 and 3.
struct ten_positions {
  ten_positions() {
    for (uint64_t p = 0; p < 10; ++p) cache.write(cache.place(blocks, p), 100 + p);
  }
  uint64_t hash(uint64_t end = 10) const { return cache.hash(blocks, end, 7); }
  emulated_kv_cache cache{4, 4};
  std::vector<uint32_t> blocks{2, 0, 3};
};

}  // namespace

TEST_CASE(
    "emulated kv cache: the hash changes with every word, its order, its block and the number of words") {
  ten_positions s;
  std::set<uint64_t> seen{s.hash(), s.cache.hash(s.blocks, 10, 8)};
  for (uint64_t end = 0; end < 10; ++end) seen.insert(s.hash(end));
  for (uint64_t p = 0; p < 10; ++p) {
    s.cache.write(s.cache.place(s.blocks, p), 200);
    seen.insert(s.hash());
    s.cache.write(s.cache.place(s.blocks, p), 100 + p);
  }
  s.cache.write(s.cache.place(s.blocks, 1), 102);
  s.cache.write(s.cache.place(s.blocks, 2), 101);
  seen.insert(s.hash());
  seen.insert(ten_positions().cache.hash(std::vector<uint32_t>{0, 2, 3}, 10, 7));
  seen.insert(ten_positions().cache.hash(std::vector<uint32_t>{2, 1, 3}, 10, 7));
  CHECK(seen.size() == 2 + 10 + 10 + 3);
}

TEST_CASE("emulated kv cache: words written twice, and words behind the end, do not change it") {
  ten_positions s;
  const auto before = s.hash();
  s.cache.write(s.cache.place(s.blocks, 3), 5);
  s.cache.write(s.cache.place(s.blocks, 3), 103);
  s.cache.write(s.cache.place(s.blocks, 10), 5);
  s.cache.write(4, 5);  // a block of no sequence
  CHECK(s.hash() == before);
}

TEST_CASE("emulated kv cache: the hash shows what others have written to a block, and no place of it") {
  ten_positions s, other;
  const auto before = s.hash();
  const auto memory = s.cache.memory().bytes;
  REQUIRE(memory.size() == 4 * 4 * sizeof(uint64_t));
  memory[s.cache.place(s.blocks, 5) * sizeof(uint64_t)] ^= std::byte{1};
  s.cache.refresh(0);
  CHECK(s.hash() != before);
  // the second block of the sequence comes from another cache, to another place
  const std::vector<uint32_t> moved{2, 1, 3};
  constexpr size_t block_bytes = 4 * sizeof(uint64_t);
  std::memcpy(memory.data() + block_bytes, other.cache.memory().bytes.data(), block_bytes);
  s.cache.refresh(1);
  CHECK(s.cache.hash(moved, 10, 7) == before);
}
