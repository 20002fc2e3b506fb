#include "actors/tensor/request_recorder.hpp"

#include "messages/commands/run_command.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

in_flight_request recorded_one(uint64_t id) {
  in_flight_request f;
  f.asked.id = request_id{id};
  f.asked.rows = 3;
  f.asked.arrival = at(1);
  f.accepted_at = at(2);
  f.completed_at = at(5);
  f.worker = worker_of(4);
  f.batch = batch_id{6};
  return f;
}

}  // namespace

TEST_CASE("request recorder: a request is recorded with its times and its outcome") {
  request_recorder r;
  CHECK_FALSE(r.on());
  r.start({4, 1});
  REQUIRE(r.on());
  r.add(recorded_one(1), outcome{}, at(7));
  r.add(recorded_one(2), outcome::dropped(drop_reason::late), at(8));
  r.add(recorded_one(3), outcome::failed(failure::timeout), at(9));
  const auto taken = r.take({2});
  CHECK(taken.more);
  CHECK(taken.lost == 0);
  REQUIRE(taken.requests.size() == 2);
  const auto& t = taken.requests[0];
  CHECK(t.id == request_id{1});
  CHECK(t.rows == 3);
  CHECK(t.outcome == "finished");
  CHECK(t.reason.empty());
  CHECK(t.batch == batch_id{6});
  CHECK(t.slot == slot_id{4});
  CHECK(t.arrival == at(1));
  CHECK(t.accepted_at == at(2));
  CHECK(t.completed_at == at(5));
  CHECK(t.answered_at == at(7));
  CHECK(taken.requests[1].outcome == "dropped");
  CHECK(taken.requests[1].reason == "late");
  const auto rest = r.take({2});
  CHECK_FALSE(rest.more);
  REQUIRE(rest.requests.size() == 1);
  CHECK(rest.requests[0].outcome == "failed");
  CHECK(rest.requests[0].reason == "timeout");
}

TEST_CASE("request recorder: the ring keeps the newest requests, and a sample has about its share") {
  request_recorder r;
  r.start({2, 1});
  for (uint64_t id = 1; id <= 5; ++id) r.add(recorded_one(id), outcome{}, at(7));
  const auto taken = r.take({10});
  CHECK(taken.lost == 3);
  CHECK(taken.requests.back().id == request_id{5});
  r.start({2000, 10});
  for (uint64_t id = 1; id <= 2000; ++id) r.add(recorded_one(id), outcome{}, at(7));
  const auto sampled = r.take({2000}).requests.size();
  CHECK(sampled > 140);
  CHECK(sampled < 260);
}

TEST_CASE("request recorder: a sampling interval of zero, and a take without a recording, are refused") {
  request_recorder r;
  CHECK_THROWS_AS(r.take({1}), command_refused);
  CHECK_THROWS_AS(r.start({4, 0}), command_refused);
  CHECK_FALSE(r.on());
  r.start({4, 1});
  r.stop();
  CHECK_THROWS_AS(r.take({1}), command_refused);
}
