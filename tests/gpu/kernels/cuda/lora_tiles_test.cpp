#include "gpu/kernels/cuda/lora_tiles.hpp"

#include <doctest/doctest.h>

using namespace troupe::cuda;

TEST_CASE("lora tiles: tiles cover all rows, and there are none if no row has an adapter") {
  std::vector<lora_tile> tiles{{9, 9, 9}};
  const std::vector<uint32_t> end{0, 3, 3, 20, 21, 29}, slots{4, 5, no_adapter, 0, 4};
  cut_lora_tiles(end, slots, 8, tiles);
  CHECK(tiles ==
        std::vector<lora_tile>{
            {0, 3, 4}, {3, 8, no_adapter}, {11, 8, no_adapter}, {19, 1, no_adapter}, {20, 1, 0}, {21, 8, 4}});
  cut_lora_tiles(std::vector<uint32_t>{2, 72}, std::vector<uint32_t>{7}, 32, tiles);
  CHECK(tiles == std::vector<lora_tile>{{2, 32, 7}, {34, 32, 7}, {66, 6, 7}});
  cut_lora_tiles(std::vector<uint32_t>{0, 2, 9}, std::vector<uint32_t>{no_adapter, no_adapter}, 8, tiles);
  CHECK(tiles.empty());
  cut_lora_tiles(std::vector<uint32_t>{0}, {}, 8, tiles);
  CHECK(tiles.empty());
}

TEST_CASE("lora tiles: steps with many rows use wide tiles") {
  CHECK(lora_tile_rows(1) == narrow_tile);
  CHECK(lora_tile_rows(64) == narrow_tile);
  CHECK(lora_tile_rows(2048) == wide_tile);
}
