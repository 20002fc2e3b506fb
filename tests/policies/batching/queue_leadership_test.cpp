#include "policies/batching/queue_leadership.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using arrival = queue_leadership::arrival;

namespace {

request with_id(uint64_t id) {
  request r;
  r.id = request_id{id};
  return r;
}

handover of_batch(uint64_t batch, uint64_t term, std::vector<request> requests) {
  handover h;
  h.batch = {batch};
  h.term = {term};
  h.requests = std::move(requests);
  return h;
}

batch_done end_of(uint64_t batch) {
  batch_done d;
  d.batch = {batch};
  return d;
}

}  // namespace

TEST_CASE("queue_leadership: without elections it leads always, in the term of its incarnation") {
  queue_leadership l(false, {10}, 5, 100);
  CHECK(l.leads());
  CHECK(l.term() == term_id{10});
  CHECK(l.arrive(with_id(1)) == arrival::taken);
  CHECK(l.new_batch() == batch_id{5});
  l.begin_incarnation({40});
  CHECK(l.term() == term_id{40});
  CHECK(l.next_batch() == batch_id{6});
}

TEST_CASE("queue_leadership: until the first term is known it holds a bounded number of requests") {
  queue_leadership l(true, {}, 1, 2);
  CHECK(l.arrive(with_id(1)) == arrival::held);
  CHECK(l.arrive(with_id(2)) == arrival::held);
  CHECK(l.arrive(with_id(3)) == arrival::too_many);
  l.remove_held_if([](const request& r) { return r.id == request_id{1}; });
  l.begin_term({3}, true);
  const auto held = l.take_held();
  REQUIRE(held.size() == 1);
  CHECK(held[0].id == request_id{2});
  CHECK(l.arrive(held[0]) == arrival::taken);
}

TEST_CASE("queue_leadership: a node takes requests only while it leads") {
  queue_leadership l(true, {}, 1, 100);
  l.begin_term({3}, false);
  CHECK_FALSE(l.leads());
  CHECK(l.arrive(with_id(1)) == arrival::other);
  CHECK(l.take_held().empty());
  l.begin_term({4}, true);
  CHECK(l.arrive(with_id(1)) == arrival::taken);
  l.begin_term({5}, false);
  CHECK(l.arrive(with_id(1)) == arrival::other);
  l.begin_incarnation({9});
  CHECK_FALSE(l.leads());
}

TEST_CASE("queue_leadership: batch ids of terms lie apart, and never count down") {
  queue_leadership l(true, {}, 7, 100);
  l.begin_term({2}, true);
  CHECK(l.new_batch() == batch_id{(uint64_t{2} << 48) + 7});
  l.begin_term({3}, false);
  l.begin_term({0x8001}, true);  // its low bits are fewer
  CHECK(l.new_batch() == batch_id{(uint64_t{2} << 48) + 8});
}

TEST_CASE("queue_leadership: a handover of the present term is adopted, and its requests are known") {
  queue_leadership l(true, {}, 1, 100);
  l.begin_term({2}, true);
  CHECK_FALSE(l.adopts(of_batch(4, 1, {})));
  const auto h = of_batch((uint64_t{2} << 48) + 70, 2, {with_id(1)});
  CHECK(l.adopts(h));
  CHECK_FALSE(l.adopt(h));
  CHECK(l.next_batch().value == h.batch.value + 1);
  CHECK(l.arrive(with_id(1)) == arrival::known);
  CHECK(l.arrive(with_id(2)) == arrival::taken);
  l.forget_takeover();
  CHECK(l.arrive(with_id(1)) == arrival::taken);
  l.begin_term({3}, false);
  CHECK_FALSE(l.adopts(of_batch(4, 3, {})));
}

TEST_CASE("queue_leadership: the end of a batch that comes before its handover is kept for it") {
  queue_leadership l(true, {}, 1, 100);
  l.keep_early(end_of(4));  // there is no term of this node
  l.begin_term({2}, true);
  CHECK_FALSE(l.adopt(of_batch(4, 2, {})));
  l.keep_early(end_of(5));
  l.keep_early(end_of(6));
  const auto early = l.adopt(of_batch(5, 2, {}));
  REQUIRE(early);
  CHECK(early->batch == batch_id{5});
  CHECK_FALSE(l.adopt(of_batch(5, 2, {})));
  l.forget_takeover();
  CHECK_FALSE(l.adopt(of_batch(6, 2, {})));
}

TEST_CASE("queue_leadership: no more than 1,024 early ends are kept, and none without elections") {
  queue_leadership l(true, {}, 1, 100);
  l.begin_term({2}, true);
  for (uint64_t b = 1; b <= 1025; ++b) l.keep_early(end_of(b));
  CHECK(l.adopt(of_batch(1024, 2, {})));
  CHECK_FALSE(l.adopt(of_batch(1025, 2, {})));
  queue_leadership alone(false, {1}, 1, 100);
  alone.keep_early(end_of(4));
  CHECK_FALSE(alone.adopt(of_batch(4, 1, {})));
}

TEST_CASE(
    "queue_leadership: of an adopted request it knows the resubmission to the new leader, and no more") {
  queue_leadership l(true, {}, 1, 100);
  l.begin_term({3}, true);
  auto r = with_id(1);
  r.attempt = 4;
  r.gateway.incarnation = {7};
  l.adopt(of_batch(9, 3, {r}));
  CHECK(l.arrive(r) == arrival::known);
  ++r.attempt;
  CHECK(l.arrive(r) == arrival::known);
  auto anew = r;
  anew.gateway.incarnation = {8};
  CHECK(l.arrive(anew) == arrival::taken);  // the next incarnation of its gateway
  ++r.attempt;
  CHECK(l.arrive(r) == arrival::taken);  // its bytes were lost
}
