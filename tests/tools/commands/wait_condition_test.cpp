#include "tools/commands/wait_condition.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

const auto answer = nlohmann::json::parse(
    R"({"state": "idle", "queued": 3, "ready": true, "slots": [{"state": "busy"}, {"state": "out of service"}]})");

bool holds(const char* text) { return wait_condition(text).holds(answer); }

}  // namespace

TEST_CASE("wait_condition: a field is compared with a JSON value, or with text as it is") {
  CHECK(holds("queued == 3"));
  CHECK_FALSE(holds("queued != 3"));
  CHECK(holds("queued < 3.5"));
  CHECK(holds("queued <= 3"));
  CHECK_FALSE(holds("queued > 3"));
  CHECK(holds("queued >= 3"));
  CHECK(holds("state == idle"));
  CHECK(holds("state == \"idle\""));
  CHECK(holds("ready == true"));
  CHECK_FALSE(holds("queued == idle"));
}

TEST_CASE("wait_condition: a path leads into objects and lists, and later entries may still be absent") {
  CHECK(holds("slots.0.state == busy"));
  CHECK(holds("slots.1.state == out of service"));
  CHECK_FALSE(holds("slots.2.state == busy"));
}

TEST_CASE("wait_condition: an invalid condition is reported") {
  for (const char* text : {"", "queued", "queued ==", "queued = 3", "queued==3", "== 3"})
    CHECK_THROWS_WITH_AS(wait_condition{text}, doctest::Contains("FIELD OP VALUE"), std::invalid_argument);
  CHECK_THROWS_WITH_AS(holds("quwed == 3"),
                       "the answer has no field 'quwed'; there are: queued, ready, slots, state",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(holds("slots.x == 3"), "'slots.x': 'x' is not a position in a list",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(holds("state < 3"), "'state' is \"idle\", which < cannot compare with 3",
                       std::invalid_argument);
}
