#include "actors/tensor/order_authority.hpp"

#include <doctest/doctest.h>

#include "tests/actors/leaders.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

batch_order order_by(const leadership& by) {
  batch_order o;
  o.term = by.term;
  o.queue = {by.scheduler, by.incarnation, role::model_queue, 0};
  return o;
}

}  // namespace

TEST_CASE(
    "order authority: without a leader orders of any scheduler are accepted, until one of a higher term") {
  order_authority a;
  batch_order o;
  o.term = term_id{10};
  CHECK(a.accepts(o));
  CHECK(a.is_from_leader(o));
  a.note(o.term);
  CHECK(a.accepts(o));
  o.term = term_id{9};
  CHECK_FALSE(a.accepts(o));
  o.term = term_id{11};
  CHECK(a.accepts(o));
}

TEST_CASE("order authority: a new leader ends earlier terms, even those with accepted orders") {
  order_authority a;
  CHECK(a.change(first));
  CHECK(a.accepts(order_by(first)));
  a.note(first.term);
  CHECK(a.change(second));
  CHECK(a.leader() == second);
  CHECK_FALSE(a.accepts(order_by(first)));
  CHECK_FALSE(a.is_from_leader(order_by(first)));
  CHECK(a.accepts(order_by(second)));
  CHECK_FALSE(a.change(first));  // reported late
  CHECK_FALSE(a.change(second));
  CHECK(a.leader() == second);
}

TEST_CASE("order authority: orders of a term are accepted from the leader's latest incarnation only") {
  order_authority a;
  a.change(first);
  auto again = first;
  again.incarnation = {first.incarnation.value + 1};
  CHECK(a.change(again));
  CHECK_FALSE(a.accepts(order_by(first)));
  CHECK(a.accepts(order_by(again)));
}

TEST_CASE(
    "order authority: an order of a term that is not announced yet is accepted, but not as the leader's") {
  order_authority a;
  a.change(first);
  CHECK(a.accepts(order_by(second)));
  CHECK_FALSE(a.is_from_leader(order_by(second)));
}
