#include "policies/llm/adapter_registry.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("adapter registry: a name that was freed goes to a new adapter, under a new id") {
  adapter_registry r;
  const auto old = r.add({"a", "/1"}).id;
  r.unregister(*r.find(old));
  CHECK(r.find("a") == nullptr);
  REQUIRE(r.find(old) != nullptr);  // until its requests have ended
  CHECK(r.find(old)->leaving);
  const auto later = r.add({"a", "/2"}).id;
  CHECK(later != old);
  r.forget(old);
  CHECK(r.find(old) == nullptr);
  REQUIRE(r.find("a") != nullptr);
  CHECK(r.find("a")->what.path == "/2");
}

TEST_CASE("adapter registry: an adapter that is forgotten while it is checked frees its name") {
  adapter_registry r;
  auto& e = r.add({"a", "/a"});
  e.checking = true;
  CHECK(r.size() == 0);
  CHECK(r.list({}, 9).empty());
  r.forget(e.id);
  CHECK(r.find("a") == nullptr);
}

TEST_CASE("adapter registry: lists go by name, page by page") {
  adapter_registry r;
  for (const char* name : {"c", "a", "d", "b"}) r.add({name, "/"});
  r.find("b")->checking = true;
  const auto first = r.list({}, 2);
  REQUIRE(first.size() == 2);
  CHECK(first[0]->what.name == "a");
  CHECK(first[1]->what.name == "c");
  const auto rest = r.list("c", 2);
  REQUIRE(rest.size() == 1);
  CHECK(rest[0]->what.name == "d");
  CHECK(r.list("d", 2).empty());
  CHECK(r.size() == 3);
}
