#include "actors/kinds/kv_arena.hpp"

#include <doctest/doctest.h>

#include <array>
#include <new>
#include <utility>

using namespace troupe;

namespace {

cluster_spec two_cached_models() {
  cluster_spec c;
  c.llms.resize(2);
  c.llms[0].device = device_kind::cpu;
  c.llms[0].kv_bytes = 5000;
  c.llms[1].device = device_kind::emulated;
  c.llms[1].kv_bytes = 1 << 20;
  c.llms[1].profile.kv_token_bytes = 1024;
  for (const auto& [model, node] : {std::pair{0u, 0u}, {0u, 1u}, {1u, 1u}})
    c.engines.push_back({llm_id{model}, node_id{node}});
  return c;
}

}  // namespace

TEST_CASE("kv arena: the caches of models with several engines, each from a page on") {
  auto c = two_cached_models();
  CHECK(shared_kv_bytes(c, llm_id{0}) == 5000);
  CHECK(shared_kv_bytes(c, llm_id{1}) == 0);  // nobody could pull from it
  CHECK(kv_arena_bytes(c, node_id{0}) == 8192);
  c.engines.push_back({llm_id{1}, node_id{0}});
  CHECK(shared_kv_bytes(c, llm_id{1}) == 1024 * 8);
  CHECK(kv_arena_bytes(c, node_id{0}) == 8192 + 8192);
  c.llms[0].device = device_kind::cuda;
  CHECK(shared_kv_bytes(c, llm_id{0}) == 0);
  c.llms[1].profile.kv_token_bytes = 0;
  CHECK(kv_arena_bytes(c, node_id{0}) == 0);
}

TEST_CASE("kv arena: each cache has a place of its own, again and again") {
  auto c = two_cached_models();
  c.engines = {
      {llm_id{0}, node_id{0}}, {llm_id{0}, node_id{1}}, {llm_id{1}, node_id{0}}, {llm_id{0}, node_id{0}}};
  alignas(4096) static std::array<std::byte, 4 * 4096> bytes;
  REQUIRE(kv_arena_bytes(c, node_id{0}) == bytes.size());
  const registered_memory arena{bytes, memory_kind::host, uint64_t{2} << 48};
  const auto first = kv_allocator(c, engine_id{0}, arena), third = kv_allocator(c, engine_id{3}, arena);
  for (int round = 0; round < 3; ++round) {
    const auto b = third(5000);
    CHECK(b.bytes.data() == bytes.data() + 8192);
    CHECK(b.offset == (uint64_t{2} << 48) + 8192);
    const auto a = first(5000);
    CHECK(a.bytes.data() == bytes.data());
    CHECK_THROWS_AS(first(100), std::bad_alloc);
  }
  CHECK_FALSE(kv_allocator(c, engine_id{2}, arena)(100).offset);  // on the heap
}
