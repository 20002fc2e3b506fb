#include "policies/llm/kv_blocks.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace troupe::llm;

TEST_CASE("every KV block is given out once before one is given back") {
  kv_blocks blocks(5);
  std::set<uint32_t> taken;
  while (blocks.free() > 0) taken.insert(blocks.take());
  CHECK(taken == std::set<uint32_t>{0, 1, 2, 3, 4});
  blocks.give_back(3);
  CHECK(blocks.free() == 1);
  CHECK(blocks.take() == 3);
}

TEST_CASE("a shared KV block is free when its last user gives it back") {
  kv_blocks blocks(2);
  const auto b = blocks.take();
  blocks.share(b);
  CHECK(blocks.users(b) == 2);
  blocks.give_back(b);
  CHECK(blocks.free() == 1);
  blocks.give_back(b);
  CHECK(blocks.free() == 2);
}
