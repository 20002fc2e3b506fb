#include "actors/llm/kv_export.hpp"

#include <numeric>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct cache {
  std::vector<std::byte> bytes;
  kv_cache_view view;
  cache(uint32_t blocks, int first) : bytes(blocks * 24), view{bytes, 24} {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  }
};

bool same(std::span<const std::byte> a, std::span<const std::byte> b) { return std::ranges::equal(a, b); }

}  // namespace

TEST_CASE("kv export: blocks reach the given places of another node's cache through the pool") {
  scripted_memory here({1}), there({2});
  const cache from(4, 0), into(5, 100);
  const auto untouched = into.bytes;
  const auto regions = export_blocks(here, from.view, std::vector<uint32_t>{3, 1});
  REQUIRE(regions);
  REQUIRE(regions->size() == 2);
  const std::vector<uint32_t> places{0, 4};
  for (size_t i = 0; i < 2; ++i) {
    const auto& region = (*regions)[i];
    auto buffer = there.pull_buffer(region);
    there.pull(region, buffer, {}, i);
    CHECK(there.end_pull(here).status == pull_status::ok);
    const auto pulled = there.verify(region, buffer);
    REQUIRE(pulled);
    CHECK(import_block(into.view, places[i], *pulled));
    here.give_back(region);
  }
  CHECK(same(into.view.block(0), from.view.block(3)));
  CHECK(same(into.view.block(4), from.view.block(1)));
  CHECK(same(into.view.bytes.subspan(24, 72), std::span(untouched).subspan(24, 72)));
}

TEST_CASE("kv export: an export without room for all blocks fails, and releases its memory") {
  scripted_memory small({1}, 2);
  const cache from(4, 0);
  CHECK_FALSE(export_blocks(small, from.view, std::vector<uint32_t>{0, 1, 2}));
  CHECK(export_blocks(small, from.view, std::vector<uint32_t>{0, 1}));
}

TEST_CASE("kv export: a block of the wrong size or beyond the cache is refused") {
  const cache into(2, 0);
  const auto before = into.bytes;
  const std::vector<std::byte> right(24, std::byte{9}), wrong(23);
  CHECK_FALSE(import_block(into.view, 0, wrong));
  CHECK_FALSE(import_block(into.view, 2, right));
  CHECK(into.bytes == before);
}
