#include "actors/common/ledger_report.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("ledger report: a line has the counts of a model, without reasons that did not occur") {
  outcome_counts counts;
  counts.accepted = 6;
  counts.finished = 3;
  counts.dropped[static_cast<size_t>(drop_reason::late)] = 2;
  counts.failed[static_cast<size_t>(failure::timeout)] = 1;
  const auto line = line_of("m", counts, 2);
  CHECK(line.model == "m");
  CHECK(line.accepted == 6);
  CHECK(line.finished == 3);
  CHECK(line.in_time == 2);
  REQUIRE(line.dropped.size() == 1);
  CHECK(line.dropped[0].reason == "late");
  CHECK(line.dropped[0].count == 2);
  REQUIRE(line.failed.size() == 1);
  CHECK(line.failed[0].reason == "timeout");
}

TEST_CASE("ledger report: the state of a gateway sums its models, and shows whether it drains") {
  struct some_request : in_flight_state {
    request asked;
  };
  tenant_limiter limiter({});
  in_flight_requests<some_request> requests({2, {}}, limiter);
  const auto arrive = [&](uint64_t id, uint32_t model) {
    some_request r;
    r.asked.id = request_id{id};
    r.asked.model = model_id{model};
    REQUIRE(requests.admit(r.asked, drop_reason::none, 0, {}).refused == drop_reason::none);
    requests.add(std::move(r), never);
  };
  arrive(1, 0), arrive(2, 3);
  auto ended = requests.take(request_id{1});
  auto how = outcome::failed(failure::poison);
  requests.settle(ended, how, {});
  requests.drain();
  const auto s = state_of(requests);
  CHECK(s.accepted == 2);
  CHECK(s.in_flight == 1);
  CHECK(s.failed == 1);
  CHECK(s.finished + s.dropped == 0);
  CHECK(s.balanced);
  CHECK(s.draining);
}
