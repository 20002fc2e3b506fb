#include "policies/common/ledger.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("the ledger balances exactly when every accepted request has one outcome or is in flight") {
  ledger requests;
  CHECK(requests.balanced(0));
  for (int i = 0; i < 5; ++i) requests.accept(model_id{2});
  CHECK(requests.balanced(5));
  requests.finish(model_id{2});
  requests.drop(model_id{2}, drop_reason::late);
  requests.drop(model_id{2}, drop_reason::shed);
  requests.fail(model_id{2}, failure::worker_lost);
  CHECK(requests.balanced(1));
  CHECK_FALSE(requests.balanced(0));
  CHECK_FALSE(requests.balanced(2));
  requests.finish(model_id{2});
  CHECK(requests.balanced(0));
  requests.finish(model_id{2});  // a second outcome
  CHECK_FALSE(requests.balanced(0));
}

TEST_CASE("outcomes are counted by model and by reason, and add up") {
  ledger requests;
  requests.accept(model_id{0});
  requests.accept(model_id{2});
  requests.accept(model_id{2});
  requests.drop(model_id{2}, drop_reason::shed);
  requests.fail(model_id{0}, failure::timeout);
  REQUIRE(requests.by_model().size() == 3);
  CHECK(requests.by_model()[1] == outcome_counts{});
  CHECK(requests.by_model()[2].accepted == 2);
  CHECK(requests.by_model()[2].dropped[static_cast<size_t>(drop_reason::shed)] == 1);
  CHECK(requests.by_model()[0].failed[static_cast<size_t>(failure::timeout)] == 1);
  CHECK(requests.total().accepted == 3);
  CHECK(requests.total().total_dropped() == 1);
  CHECK(requests.total().total_failed() == 1);
}
