#include "actors/tensor/outcome_log.hpp"

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

const std::vector<std::string> log_models{"m"}, log_tenants{"alice"};

in_flight_request decided_one(uint64_t id) {
  in_flight_request f;
  f.asked.id = request_id{id};
  f.asked.rows = 3;
  f.asked.tenant = 1;
  f.asked.arrival = at(1);
  f.asked.deadline = at(13);
  return f;
}

gateway_decision decision_about(const outcome_log& log, uint64_t id) {
  return log.explain(request_id{id}, log_models, log_tenants, 9);
}

}  // namespace

TEST_CASE("outcome log: a decision has the numbers of its request") {
  outcome_log log(4);
  auto how = outcome::dropped(drop_reason::quota);
  how.retry_after = 5s;
  how.detail = "rate";
  log.add(decided_one(1), how, at(2), true, 7);
  const auto d = decision_about(log, 1);
  REQUIRE(d.known);
  CHECK(d.decision_log == 4);
  CHECK(d.id == request_id{1});
  CHECK(d.model_name == "m");
  CHECK(d.tenant == "alice");
  CHECK(d.rows == 3);
  CHECK(d.arrival == at(1));
  CHECK(d.deadline == at(13));
  CHECK(d.at == at(2));
  CHECK(d.at_admission);
  CHECK(d.outcome == "dropped");
  CHECK(d.reason == "quota");
  CHECK(d.detail == "rate");
  CHECK(d.in_flight == 7);
  CHECK(d.max_in_flight == 9);
  CHECK(d.retry_after == 5s);
}

TEST_CASE("outcome log: a failure has its cause, and unknown names are empty") {
  outcome_log log(4);
  auto f = decided_one(1);
  f.asked.model = model_id{8};
  f.asked.tenant = 2;
  log.add(f, outcome::failed(failure::timeout), at(2), false, 0);
  const auto d = decision_about(log, 1);
  CHECK_FALSE(d.at_admission);
  CHECK(d.outcome == "failed");
  CHECK(d.reason == "timeout");
  CHECK(d.model_name.empty());
  CHECK(d.tenant.empty());
}

TEST_CASE("outcome log: the log keeps the latest decisions, and the later of two about one id") {
  outcome_log log(2);
  log.add(decided_one(1), outcome::failed(failure::timeout), at(2), false, 0);
  log.add(decided_one(2), outcome::failed(failure::timeout), at(3), false, 0);
  log.add(decided_one(2), outcome::failed(failure::scheduler_lost), at(4), false, 0);
  CHECK_FALSE(decision_about(log, 1).known);
  CHECK(decision_about(log, 2).at == at(4));
  outcome_log none(0);
  none.add(decided_one(1), outcome::failed(failure::timeout), at(2), false, 0);
  CHECK_FALSE(decision_about(none, 1).known);
  CHECK(decision_about(none, 1).decision_log == 0);
}
