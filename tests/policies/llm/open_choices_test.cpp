#include "policies/llm/open_choices.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("open choices: each continues until its end, and the last end is reported") {
  open_choices c(2);
  CHECK(c.size() == 2);
  CHECK(c.left() == 2);
  CHECK(c.add(1, 7) == 1);
  CHECK(c.add(1, 8) == 2);
  CHECK_FALSE(c.end(1));
  CHECK_FALSE(c.open(1));
  CHECK(c.open(0));
  CHECK_FALSE(c.open(2));  // there is none
  CHECK(c.left() == 1);
  CHECK(c.end(0));
  CHECK(c.left() == 0);
  CHECK(c.size() == 2);
}

TEST_CASE("open choices: progress has the open choices with their tokens") {
  open_choices c(3);
  c.add(0, 4);
  c.add(1, 5), c.add(1, 6);
  c.end(0);
  CHECK(c.progress() == std::vector<sequence_progress>{{1, {5, 6}}, {2, {}}});
  CHECK(c.tokens(10) == 22);  // two prompts, two tokens
  c.end(1), c.end(2);
  CHECK(c.progress().empty());
  CHECK(c.tokens(10) == 0);
}

TEST_CASE("open choices: of no choices none is open") {
  CHECK_FALSE(open_choices().open(0));
  CHECK(open_choices().left() == 0);
}
