#include "policies/ledger.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("the books balance exactly when every accepted request has one outcome or is in flight") {
  ledger books;
  CHECK(books.balanced(0));
  for (int i = 0; i < 5; ++i) books.accept(model_id{2});
  CHECK(books.balanced(5));
  books.finish(model_id{2});
  books.drop(model_id{2}, drop_reason::late);
  books.drop(model_id{2}, drop_reason::shed);
  books.fail(model_id{2}, failure::worker_lost);
  CHECK(books.balanced(1));
  CHECK_FALSE(books.balanced(0));
  CHECK_FALSE(books.balanced(2));
  books.finish(model_id{2});
  CHECK(books.balanced(0));
  books.finish(model_id{2});  // a second outcome
  CHECK_FALSE(books.balanced(0));
}

TEST_CASE("outcomes are counted by model and by reason, and add up") {
  ledger books;
  books.accept(model_id{0});
  books.accept(model_id{2});
  books.accept(model_id{2});
  books.drop(model_id{2}, drop_reason::shed);
  books.fail(model_id{0}, failure::timeout);
  REQUIRE(books.by_model().size() == 3);
  CHECK(books.by_model()[1] == outcome_counts{});
  CHECK(books.by_model()[2].accepted == 2);
  CHECK(books.by_model()[2].dropped[static_cast<size_t>(drop_reason::shed)] == 1);
  CHECK(books.by_model()[0].failed[static_cast<size_t>(failure::timeout)] == 1);
  CHECK(books.total().accepted == 3);
  CHECK(books.total().total_dropped() == 1);
  CHECK(books.total().total_failed() == 1);
}
