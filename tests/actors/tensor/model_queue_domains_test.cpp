// A queue that moves to another scheduling domain.
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address arbiter_of(uint32_t domain) { return {scheduler_node, {10}, role::rank_arbiter, domain}; }

/// Slots 0 and 1 are in the domains 0 and 1; the model is in domain 0.
struct moving_queue : basic_queue_stage<> {
  moving_queue() : basic_queue_stage(options()) {
    deliver(ready(0));
    out.forget();
  }
  static model_queue::options options() {
    auto o = paper_queue(arbiter_of(0));
    o.slot_domains = {0, 1};
    o.domain_names = {"left", "right"};
    return o;
  }
  void change(uint64_t revision, uint32_t domain, uint32_t joining, uint32_t leaving) {
    deliver(model_change{{revision, model_id{0}, deployment_state::deployed, {}, domain, joining, leaving}});
  }
  void grant_by(uint32_t domain) {
    deliver(grant{model_id{0}, 1, slot_id{domain}, worker_of(domain), now}, arbiter_of(domain));
  }
};

}  // namespace

TEST_CASE("model_queue: it reports its received requests to the placer") {
  moving_queue q;
  constexpr address placer{scheduler_node, {10}, role::placer, 0};
  q.arrive(1);
  q.arrive(2);
  q.out.forget();
  q.deliver(query_received{7}, placer);
  const auto answers = q.out.take_addressed<received_requests>();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].first == placer);
  CHECK(answers[0].second.token == 7);
  CHECK(answers[0].second.requests == 2);
}

TEST_CASE("model_queue: a model that joins a domain is not served there yet") {
  moving_queue q;
  q.deliver(ready(1));
  CHECK(q.value_of("troupe_queue_slots") == 1);
  q.change(1, 0, 1, no_domain);
  CHECK(q.out.silent());
  q.arrive(1);
  CHECK(q.out.take_addressed<candidate>().at(0).first.index == 0);
}

TEST_CASE("model_queue: a moved queue withdraws its candidate and offers it to the new arbiter") {
  moving_queue q;
  q.deliver(ready(1));
  q.arrive(1);
  q.out.forget();
  q.change(2, 1, no_domain, 0);
  const auto said = q.out.take_addressed<candidate>();
  REQUIRE(said.size() == 2);
  CHECK(said[0].first.index == 0);
  CHECK(said[0].second.rows == 0);
  CHECK(said[1].first.index == 1);
  CHECK(said[1].second.rows == 1);
  CHECK(said[1].second.sequence > said[0].second.sequence);
  CHECK(q.out.one<model_idle>().revision == 2);  // nothing runs in the old domain
  q.grant_by(1);
  CHECK(q.out.one<batch_order>().slot == slot_id{1});
}

TEST_CASE("model_queue: a late grant of the old arbiter is declined, and the request waits for the new one") {
  moving_queue q;
  q.deliver(ready(1));
  q.arrive(1);
  q.change(2, 1, no_domain, 0);
  q.out.forget();
  q.grant_by(0);
  const auto answers = q.out.take_addressed<occupied>();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].first == arbiter_of(0));
  CHECK(answers[0].second.batch == batch_id{});
  CHECK(q.out.take<batch_order>().empty());
  q.grant_by(1);
  CHECK(q.out.one<batch_order>().requests.size() == 1);
}

TEST_CASE("model_queue: a moved queue leaves its old domain when no batch runs there") {
  moving_queue q;
  q.deliver(ready(1));
  q.arrive(1);
  q.grant_by(0);
  const auto first = q.out.one<batch_order>();
  q.arrive(2);
  q.change(2, 1, no_domain, 0);
  CHECK(q.out.take<model_idle>().empty());
  q.grant_by(1);
  const auto second = q.out.one<batch_order>();
  q.end(second);
  CHECK(q.out.take<model_idle>().empty());
  q.end(first);
  const auto idle = q.out.one<model_idle>();
  CHECK(idle.revision == 2);
  CHECK(idle.who.kind == role::model_queue);
  q.change(3, 1, no_domain, no_domain);
  CHECK(q.out.take<model_idle>().empty());
}

TEST_CASE("model_queue: a queue that begins during a move confirms the move") {
  auto o = moving_queue::options();
  o.arbiter = arbiter_of(1);
  o.leaving = 0;
  o.revision = 7;
  basic_queue_stage<> q(o);
  q.deliver(ready(1));
  CHECK(q.out.one<model_idle>().revision == 7);
}
