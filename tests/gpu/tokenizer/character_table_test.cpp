#include "gpu/tokenizer/character_table.hpp"

#include <doctest/doctest.h>

using namespace troupe::llm;

TEST_CASE("character_table: a character has the first symbol that it got") {
  character_table t;
  t.add('a', 7);
  t.add('a', 8);
  t.add(0x1f600, 0);
  t.add(0x1f600, 9);
  CHECK(t.find('a') == 7);
  CHECK(t.find(0x1f600) == 0);
}

TEST_CASE("character_table: other characters have none") {
  const character_table t;
  CHECK(t.find(0) == -1);
  CHECK(t.find(127) == -1);
  CHECK(t.find(128) == -1);
  CHECK(t.find(0x10ffff) == -1);
}
