#include "actors/common/in_flight_requests.hpp"

#include <doctest/doctest.h>

#include "messages/llm/generation.hpp"

using namespace troupe;

namespace {

struct tabled_request : in_flight_state {
  request asked;
};
using tabled_requests = in_flight_requests<tabled_request>;

constexpr time_point at_ms(int64_t ms) { return time_point{} + 1ms * ms; }

tabled_request asked_of(uint64_t id, uint32_t tenant = 0) {
  tabled_request r;
  r.asked.id = request_id{id};
  r.asked.model = model_id{1};
  r.asked.tenant = tenant;
  r.asked.arrival = at_ms(1);
  r.accepted_at = at_ms(2);
  return r;
}

struct table_stage {
  explicit table_stage(size_t max = 10, const std::vector<tenant_quota>& quotas = {})
      : limiter(quotas), requests({max, 7s}, limiter) {}

  drop_reason arrive(uint64_t id, uint32_t tenant = 0) {
    auto r = asked_of(id, tenant);
    const auto a = requests.admit(r.asked, drop_reason::none, 0, at_ms(2));
    if (a.refused == drop_reason::none) {
      requests.add(std::move(r), at_ms(100 + static_cast<int64_t>(id)));
    } else {
      auto how = a.refusal();
      requests.settle(r, how, at_ms(2));
    }
    CHECK(requests.balanced());
    return a.refused;
  }
  outcome end(uint64_t id, outcome how, time_point now = at_ms(9)) {
    auto r = requests.take(request_id{id});
    requests.settle(r, how, now);
    return how;
  }
  std::vector<uint64_t> expired(time_point now) {
    std::vector<uint64_t> out;
    while (const auto id = requests.next_expired(now, [this](request_id x) { return x == outlived; }))
      out.push_back(id->value);
    return out;
  }

  tenant_limiter limiter;
  tabled_requests requests;
  request_id outlived;
};

}  // namespace

TEST_CASE("in-flight requests: an admitted request is in the table until it is taken, and is settled once") {
  table_stage s;
  CHECK(s.arrive(5) == drop_reason::none);
  REQUIRE(s.requests.find(request_id{5}) != nullptr);
  CHECK(s.requests.size() == 1);
  CHECK(s.requests.find(request_id{4}) == nullptr);
  const auto how = s.end(5, {});
  CHECK(how.kind == outcome_kind::finished);
  CHECK(how.arrival == at_ms(1));
  CHECK(how.latency == 8ms);
  CHECK(how.accepted_at == at_ms(2));
  CHECK(s.requests.empty());
  CHECK(s.requests.balanced());
  CHECK(s.requests.counts().by_model()[1].finished == 1);
}

TEST_CASE("in-flight requests: outcomes are counted by kind and reason") {
  table_stage s;
  for (uint64_t id : {1, 2, 3}) s.arrive(id);
  s.end(1, outcome::dropped(drop_reason::late));
  s.end(2, outcome::failed(failure::timeout));
  const auto& counts = s.requests.counts().by_model()[1];
  CHECK(counts.accepted == 3);
  CHECK(counts.dropped[static_cast<size_t>(drop_reason::late)] == 1);
  CHECK(counts.failed[static_cast<size_t>(failure::timeout)] == 1);
  CHECK(s.requests.balanced());
}

TEST_CASE("in-flight requests: a refusal has the first of several reasons, and does not charge the tenant") {
  table_stage s(1, {{0, 1, 1}});
  s.arrive(1);
  const auto refusal = [&](drop_reason unserved, size_t outlived = 0) {
    auto r = asked_of(9, 1);
    const auto a = s.requests.admit(r.asked, unserved, outlived, at_ms(2));
    auto how = a.refusal();
    s.requests.settle(r, how, at_ms(3));
    return how;
  };
  CHECK(refusal(drop_reason::undeployed).reason == drop_reason::undeployed);
  CHECK(refusal(drop_reason::none).reason == drop_reason::queue_full);
  CHECK(s.limiter.statistics()[0].admitted == 0);
  s.end(1, {});
  CHECK(refusal(drop_reason::none, 1).reason == drop_reason::queue_full);  // outlived requests count
  s.arrive(2, 1);
  s.end(2, {});
  CHECK(s.limiter.statistics()[0].in_flight == 0);
  s.requests.drain();
  const auto how = refusal(drop_reason::undeployed);
  CHECK(how.reason == drop_reason::draining);
  CHECK(how.retry_after == 7s);
  CHECK(s.requests.balanced());
  CHECK(s.requests.counts().total().total_dropped() == 4);
}

TEST_CASE("in-flight requests: a refusal by quota has the limit and the time to retry") {
  table_stage s(10, {{10, 1, 0}, {0, 1, 1}});
  const auto refusal = [&](uint64_t id, uint32_t tenant) {
    auto r = asked_of(id, tenant);
    auto how = s.requests.admit(r.asked, drop_reason::none, 0, at_ms(2)).refusal();
    s.requests.settle(r, how, at_ms(2));
    return how;
  };
  CHECK(s.arrive(1, 1) == drop_reason::none);
  const auto rate = refusal(2, 1);
  CHECK(rate.reason == drop_reason::quota);
  CHECK(rate.retry_after == 100ms);
  CHECK(rate.detail == "rate");
  CHECK(s.arrive(3, 2) == drop_reason::none);
  CHECK(refusal(4, 2).detail == "concurrency");
}

TEST_CASE("in-flight requests: a tenant is charged until its request is settled or leaves, and freed once") {
  table_stage s(10, {{0, 1, 2}});
  s.arrive(1, 1);
  s.arrive(2, 1);
  CHECK(s.arrive(3, 1) == drop_reason::quota);
  s.end(1, {});
  CHECK(s.limiter.statistics()[0].in_flight == 1);
  auto early = s.requests.take(request_id{2});
  const bool charged = std::exchange(early.charged, false);
  auto how = outcome::failed(failure::timeout);
  s.requests.settle(early, how, at_ms(9));
  CHECK(s.limiter.statistics()[0].in_flight == 1);  // a worker still runs it
  early.charged = charged;
  s.requests.leave(early);
  s.requests.leave(early);
  CHECK(s.limiter.statistics()[0].in_flight == 0);
}

TEST_CASE("in-flight requests: requests expire in order, outlived ones too") {
  table_stage s;
  for (uint64_t id : {3, 1, 2}) s.arrive(id);
  CHECK(s.requests.next_expiry(0) <= at_ms(101));
  CHECK(s.expired(at_ms(100)).empty());
  s.end(2, {});
  CHECK(s.expired(at_ms(200)) == std::vector<uint64_t>{1, 3});
  s.end(1, outcome::failed(failure::timeout));
  s.requests.expire_at(at_ms(300), request_id{1});
  CHECK(s.requests.size() == 1);
  CHECK(s.requests.next_expiry(0) <= at_ms(300));
  s.end(3, {});
  CHECK(s.requests.next_expiry(0) == never);  // nothing can expire
  CHECK(s.requests.next_expiry(1) <= at_ms(300));
  s.outlived = request_id{1};
  CHECK(s.expired(at_ms(299)).empty());
  CHECK(s.expired(at_ms(300)) == std::vector<uint64_t>{1});
  CHECK(s.requests.next_expiry(1) == never);
}

TEST_CASE("in-flight requests: ids with a property are listed in ascending order") {
  table_stage s;
  for (uint64_t id : {4, 1, 3}) s.arrive(id);
  s.requests.find(request_id{3})->asked.rows = 8;
  using request_ids = std::vector<request_id>;
  CHECK(s.requests.ids_where([](const tabled_request&) { return true; }) ==
        request_ids{request_id{1}, request_id{3}, request_id{4}});
  CHECK(s.requests.ids_where([](const tabled_request& r) { return r.asked.rows == 8; }) ==
        request_ids{request_id{3}});
}

TEST_CASE("in-flight requests: requests of a language model are counted by its llm_id") {
  struct some_generation : in_flight_state {
    generation asked;
  };
  tenant_limiter limiter({});
  in_flight_requests<some_generation> requests({10, 7s}, limiter);
  some_generation g;
  g.asked.id = request_id{1};
  g.asked.model = llm_id{2};
  CHECK(requests.admit(g.asked, drop_reason::none, 0, at_ms(1)).refused == drop_reason::none);
  requests.add(std::move(g), at_ms(5));
  CHECK(requests.balanced());
  CHECK(requests.counts().by_model()[2].accepted == 1);
}
