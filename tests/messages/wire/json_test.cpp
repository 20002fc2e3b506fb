#include "messages/wire/json.hpp"

#include <doctest/doctest.h>

#include "tests/messages/wire/random_message.hpp"

using namespace troupe;

TEST_CASE("every message survives the way through JSON text") {
  std::mt19937_64 rng(5);
  for_each_type(wire_message_list{}, [&]<class T>() {
    for (int i = 0; i < 50; ++i) {
      T x{};
      randomise(x, rng);
      CHECK_MESSAGE(from_json<T>(nlohmann::json::parse(to_json(x).dump())) == x, T::type_name);
    }
  });
}

static std::string problem(const char* text) {
  try {
    from_json<dropped_request>(nlohmann::json::parse(text));
  } catch (const json_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST_CASE("wrong JSON is refused with the field and what it must be") {
  CHECK(problem(R"({"id": 1, "attempt": 2, "reason": "late"})") == "accepted");
  CHECK(problem(R"({"id": -1, "attempt": 2, "reason": "late"})") ==
        "dropped_request.id: must be an integer in 0..18446744073709551615");
  CHECK(problem(R"({"id": 1, "attempt": 4294967296, "reason": "late"})") ==
        "dropped_request.attempt: must be an integer in 0..4294967295");
  CHECK(problem(R"({"id": 1.5, "attempt": 2, "reason": "late"})") ==
        "dropped_request.id: must be an integer in 0..18446744073709551615");
  CHECK(problem(R"({"id": 1, "attempt": 2})") == "dropped_request.reason: missing");
  CHECK(problem(R"({"id": 1, "attempt": 2, "reason": "never"})") ==
        "dropped_request.reason: must be one of none, late, shed, queue_full, cancelled, no_capacity, "
        "draining, undeployed, quota");
  CHECK(problem(R"({"id": 1, "attempt": 2, "reason": "late", "x": 0})") ==
        "dropped_request.x: unknown field");
  CHECK(problem("[]") == "dropped_request: must be an object");
}
