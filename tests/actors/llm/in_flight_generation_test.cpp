#include "actors/llm/in_flight_generation.hpp"

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("in-flight generation: its router gets its engine and the tokens of its open choices") {
  in_flight_generation f;
  f.asked.id = request_id{4};
  f.asked.prompt = {1, 2, 3};
  f.asked.adapter = "x";
  f.asked.priority = -1;
  f.asked.arrival = at(1);
  f.asked.due = at(9);
  f.asked.tpot = 5ms;
  f.choices = open_choices(3);
  f.version = 7;
  auto r = f.routed();
  CHECK(r ==
        routed_request{request_id{4}, 7, "x", 3, 9, at(1), -1, at(9), 5ms, false, no_engine, no_engine, {}});
  f.at = engine_id{2};
  f.first_token_at = at(3);
  f.choices.add(1, 5), f.choices.add(2, 5);
  f.choices.end(2);
  r = f.routed();
  CHECK(r.started);
  CHECK(r.at == engine_id{2});
  CHECK(r.sequences == 2);
  CHECK(r.tokens == 7);
  CHECK(r.decode_at == no_engine);
  f.decode_at = engine_id{3};
  CHECK(f.routed().decode_at == engine_id{3});
  f.next = engine_id{4};
  CHECK(f.routed().at == engine_id{4});
  f.leave();
  CHECK(f.routed().at == no_engine);
  CHECK(f.routed().decode_at == no_engine);
}
