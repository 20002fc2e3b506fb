#include "gpu/kernels/cuda/kv_tiles.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/attention_case.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Keys and values of the tiles from `first` on, in row-major order.
template <uint32_t Dim>
struct tile_reader {
  static constexpr uint32_t threads = 256, cluster = 1;
  using kv_tile = cuda::kv_tile<Dim, threads>;
  size_t shared_bytes() const { return 2 * kv_tile::size * sizeof(uint16_t); }
  kv_pages kv;
  page_table table;
  uint32_t layer, kv_head, sequence, first, begin, end;
  uint16_t* out;  // [tiles, 2, 64, Dim]
  uint32_t tiles;

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    auto* keys = t.template shared<uint16_t>();
    auto* values = keys + kv_tile::size;
    typename kv_tile::template walk<Thread> walk(t, kv, table, layer, kv_head, sequence, first, begin, end);
    for (uint32_t tile = 0; tile < tiles; ++tile) {
      const uint32_t vectors = walk.next();
      walk.copy_keys(vectors, keys), walk.copy_values(vectors, values);
      t.cp_async_commit_group();
      t.template cp_async_wait_group<0>();
      t.sync();
      for (uint32_t i = t.index(); i < 2 * kv_tile::size; i += threads) {
        const uint32_t number = i % kv_tile::size, row = number / Dim, dim = number % Dim;
        out[tile * 2 * kv_tile::size + i] =
            keys[i / kv_tile::size * kv_tile::size + kv_tile::place(row, dim / 8) + dim % 8];
      }
      t.sync();
    }
  }
};

template <uint32_t Dim>
void check_tiles(uint32_t page_tokens) {
  CAPTURE(Dim);
  CAPTURE(page_tokens);
  attention_shape s;
  s.head_dim = Dim, s.page_tokens = page_tokens, s.rows = {1, 1}, s.tokens = {70, 230};
  attention_case c(element::bf16, s);
  constexpr uint32_t tiles = 3, first = 64, begin = 67, end = 200;
  shared_array<uint16_t> out(size_t{tiles} * 2 * 64 * Dim);
  run_kernel(tile_reader<Dim>{{c.kv.data(), attention_case::layers, s.kv_heads, page_tokens, Dim},
                              {c.starts.data(), c.table.data()},
                              attention_case::layer,
                              1,
                              1,
                              first,
                              begin,
                              end,
                              out.data(),
                              tiles},
             {1, 1, 1});
  wrong_elements wrong;
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t part = i / (64 * Dim) % 2, position = first + i / (2 * 64 * Dim) * 64 + i / Dim % 64;
    const bool there = position >= begin && position < end;
    const uint16_t expected = there ? c.kv[c.at(1, position, part, 1) + i % Dim] : 0;
    wrong.check(out[i] == expected, i, expected, out[i]);
  }
  CHECK(wrong == 0);
  CHECK(out.intact());
}

}  // namespace

TEST_CASE("kv tiles: rows between begin and end of each tile, zeros elsewhere, for pages of any size") {
  for (const uint32_t page_tokens : {1, 5, 16, 64, 100}) check_tiles<64>(page_tokens);
  check_tiles<128>(16);
  check_tiles<128>(33);
}

TEST_CASE("kv tiles: chunks do not overlap, and eight rows of a chunk have no bank conflict") {
  using tile = kv_tile<128, 256>;
  std::set<uint32_t> places;
  for (uint32_t row = 0; row < tile::tokens; ++row)
    for (uint32_t chunk = 0; chunk < 16; ++chunk) places.insert(tile::place(row, chunk));
  CHECK(places.size() == tile::tokens * 16);
  CHECK(*places.rbegin() == tile::size - 8);
  std::set<uint32_t> banks;
  for (uint32_t row = 8; row < 16; ++row) banks.insert(tile::place(row, 3) / 8 % 8);
  CHECK(banks.size() == 8);
}
