#include "actors/tensor/model_queue.hpp"

#include "tests/actors/tensor/command_stage.hpp"
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct commanded_queue : basic_queue_stage<command_stage<model_queue>> {
  commanded_queue() : basic_queue_stage(options()) {
    deliver(ready(0));
    out.forget();
  }
  static model_queue::options options() {
    auto o = paper_queue();
    o.batching = "deferred";
    o.shedding = "timeout";
    return o;
  }
};

}  // namespace

TEST_CASE("model_queue commands: a paused queue offers nothing and orders nothing, until it is resumed") {
  commanded_queue q;
  q.arrive(1);
  CHECK(q.out.one<candidate>().rows == 1);
  CHECK(q.order("pause_batching").ok);
  CHECK(q.out.one<candidate>().rows == 0);
  q.grant_slot();
  CHECK(q.out.one<occupied>().batch == batch_id{});
  CHECK(q.out.take<batch_order>().empty());
  const auto s = q.ask<queue_state>("get_state");
  CHECK(s.state == "paused");
  CHECK(s.queued_requests == 1);
  CHECK(s.head_deadline_in == 12ms);
  CHECK(s.candidate_rows == 0);
  q.out.forget();
  CHECK(q.order("resume_batching").ok);
  CHECK(q.out.one<candidate>().rows == 1);
  q.order("pause_batching");
  q.run_until(at(20));
  CHECK(q.out.one<drops>().requests.at(0).reason == drop_reason::late);
}

TEST_CASE("model_queue commands: another policy takes over the queued requests") {
  commanded_queue q;
  q.arrive(1);
  q.arrive(2);
  q.out.forget();
  CHECK(q.order("set_batching", R"({"batching": "eager", "shedding": "timeout"})").ok);
  const auto c = q.out.one<candidate>();
  CHECK(c.rows == 2);
  CHECK(c.exec_at == q.now);  // eager starts at once
  const auto s = q.ask<queue_state>("get_state");
  CHECK(s.batching == "eager");
  CHECK(s.candidate_rows == 2);
  CHECK(q.order("set_batching", R"({"batching": "lazy", "shedding": "timeout"})").body ==
        "set_batching: there is no policy 'lazy' with shedding 'timeout'");
  q.grant_slot();
  CHECK(q.out.one<batch_order>().requests.size() == 2);
  const auto held = q.ask<open_requests>("list_requests", R"({"limit": 1})");
  CHECK(held.total == 2);
  REQUIRE(held.requests.size() == 1);
  CHECK(held.requests[0].state == "running");
}

TEST_CASE("model_queue commands: a tighter SLO applies to later requests") {
  commanded_queue q;
  CHECK(q.order("set_slo", R"({"slo": 9000000})").ok);
  q.arrive(1);
  CHECK(q.out.one<candidate>().latest == at(3));  // 9 - ℓ(1)
  CHECK(q.order("set_slo", R"({"slo": -1})").body == "set_slo.slo: must be from 0 to a day");
}

TEST_CASE("model_queue commands: the report counts requests, batches and drops by reason") {
  commanded_queue q;
  const auto value = [&](const char* name, const std::string& reason = {}) {
    std::vector<metric> all;
    q.actor.report(all);
    const auto found = std::ranges::find_if(all, [&](const metric& m) {
      return m.name == name && (reason.empty() || m.labels.back().second == reason);
    });
    REQUIRE(found != all.end());
    return found->value;
  };
  q.arrive(1);
  q.arrive(2);
  CHECK(value("troupe_queue_requests") == 2);
  CHECK(value("troupe_queue_received_total") == 2);
  q.grant_slot();
  const auto order = q.out.one<batch_order>();
  CHECK(value("troupe_queue_requests") == 0);
  CHECK(value("troupe_queue_running_batches") == 1);
  q.end(order);
  CHECK(value("troupe_batches_total") == 1);
  CHECK(value("troupe_batched_rows_total") == 2);
  q.arrive(3);
  q.run_until(at(40));
  CHECK(value("troupe_queue_drops_total", "late") == 1);
  CHECK(value("troupe_queue_drops_total", "queue_full") == 0);
}
