#include "transport/fabric/inbox.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using troupe::inbox;
using enum inbox::verdict;

TEST_CASE("frames of a connection are delivered once and in order") {
  inbox in;
  for (uint64_t i = 0; i < 5; ++i) CHECK(in.judge(incarnation_id{1}, 1, i) == deliver);
  CHECK(in.judge(incarnation_id{1}, 1, 4) == discard);
  CHECK(in.judge(incarnation_id{1}, 1, 5) == deliver);
}

TEST_CASE("a missing frame breaks the connection, and a new connection starts from its first frame") {
  inbox in;
  CHECK(in.judge(incarnation_id{1}, 1, 0) == deliver);
  CHECK(in.judge(incarnation_id{1}, 1, 2) == gap);
  CHECK(in.judge(incarnation_id{1}, 2, 0) == deliver);
  CHECK(in.judge(incarnation_id{1}, 1, 1) == discard);
  CHECK(in.judge(incarnation_id{1}, 3, 1) == gap);
}

TEST_CASE("a later incarnation replaces an earlier one, whose frames are then discarded") {
  inbox in;
  CHECK(in.judge(incarnation_id{1}, 5, 0) == deliver);
  CHECK(in.judge(incarnation_id{2}, 1, 0) == deliver);
  CHECK(in.judge(incarnation_id{1}, 5, 1) == discard);
  CHECK(in.judge(incarnation_id{2}, 1, 1) == deliver);
}

TEST_CASE("frames of a closed incarnation are discarded, those of its successor are delivered") {
  inbox in;
  CHECK(in.judge(incarnation_id{4}, 1, 0) == deliver);
  in.close(incarnation_id{4});
  CHECK(in.judge(incarnation_id{4}, 1, 1) == discard);
  CHECK(in.judge(incarnation_id{3}, 9, 0) == discard);
  CHECK(!in.accepts(incarnation_id{4}));
  CHECK(in.judge(incarnation_id{5}, 1, 0) == deliver);
}

TEST_CASE("an incarnation that is opened again continues after the discarded frames") {
  inbox in;
  CHECK(in.judge(incarnation_id{4}, 1, 0) == deliver);
  in.close(incarnation_id{4});
  CHECK(in.judge(incarnation_id{4}, 1, 1) == discard);
  in.open(incarnation_id{4});
  CHECK(in.judge(incarnation_id{4}, 1, 2) == deliver);
  CHECK(in.judge(incarnation_id{4}, 1, 4) == gap);
  CHECK(in.judge(incarnation_id{3}, 1, 0) == discard);
}

TEST_CASE("a connection that began while its incarnation was closed continues when it is opened") {
  inbox in;
  CHECK(in.judge(incarnation_id{4}, 1, 0) == deliver);
  in.close(incarnation_id{4});
  CHECK(in.judge(incarnation_id{4}, 2, 0) == discard);  // the peer has connected again before this side
  CHECK(in.judge(incarnation_id{4}, 2, 1) == discard);
  in.open(incarnation_id{4});
  CHECK(in.judge(incarnation_id{4}, 1, 1) == discard);
  CHECK(in.judge(incarnation_id{4}, 2, 2) == deliver);
  CHECK(in.judge(incarnation_id{4}, 2, 4) == gap);
}

TEST_CASE("opening an incarnation closes those before it") {
  inbox in;
  in.open(incarnation_id{4});
  CHECK(in.judge(incarnation_id{3}, 1, 0) == discard);
  CHECK(in.judge(incarnation_id{4}, 1, 0) == deliver);
}
