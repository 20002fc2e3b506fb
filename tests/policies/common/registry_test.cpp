#include "policies/common/registry.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace troupe;

TEST_CASE("names are listed in the order in which they were added, and found") {
  registry<int> r{{"one", 1}, {"two", 2}};
  for (int i = 3; i < 50; ++i) CHECK(r.add("number " + std::to_string(i), i));
  REQUIRE(r.names().size() == 49);
  CHECK(r.names()[0] == "one");
  CHECK(r.names()[48] == "number 49");
  CHECK(*r.find("two") == 2);
  CHECK(*r.find("number 17") == 17);
  CHECK(r.find("three") == nullptr);
}

TEST_CASE("a taken name keeps its entry") {
  registry<int> r{{"one", 1}};
  CHECK_FALSE(r.add("one", 2));
  CHECK(*r.find("one") == 1);
  CHECK(r.names().size() == 1);
}
