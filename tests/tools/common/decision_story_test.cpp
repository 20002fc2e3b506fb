#include "tools/common/decision_story.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr time_point at(double ms) { return time_point{1h} + from_ms(ms); }  // of the request's arrival

cluster_spec two_models() {
  cluster_spec c;
  for (const char* name : {"mlp", "bert"}) c.models.emplace_back().name = name;
  return c;
}

request_story request_of(const char* state) {
  request_story r;
  r.known = true;
  r.state = state;
  r.id = request_id{7};
  r.model_name = "mlp";
  r.batching = "deferred";
  r.shedding = "window";
  r.response = 1ms;
  r.rows = 2;
  r.arrival = at(0);
  r.taken_at = at(0.1);
  r.deadline = at(12);
  r.rows_ahead = 1;
  return r;
}

std::string text_of(const decision_story& s) { return story_text(story_document(s, two_models())); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a story gives the times of a request from its arrival") {
  decision_story s{request_of("finished"), {}};
  s.request.candidates = {{at(-1), 1, 1, at(3), at(4)}, {at(0.1), 2, 3, at(2), at(3.5)}};
  batch_decision b;
  b.attempt = 1;
  b.known = true;
  b.batch = batch_id{9};
  b.slot = slot_id{3};
  b.granted_at = at(2.1);
  b.free_at = at(1);
  b.rows = 3;
  b.requests = 2;
  b.exec_at = at(2.3);
  b.start_by = at(3.5);
  b.planned_end = at(10.3);
  b.end = "done";
  b.started_at = at(2.4);
  b.finished_at = at(10.4);
  s.request.batches = {b};
  s.grants = {
      {true, at(2), slot_id{3}, at(1), at(0.1), 3, at(2), at(3.5), {{model_id{1}, at(1), 5, at(2), at(6)}}}};
  const auto document = story_document(s, two_models());
  std::vector<std::string> events;
  for (const auto& e : document["events"]) events.push_back(e["event"]);
  CHECK(events == std::vector<std::string>{"candidate", "arrived", "queued", "candidate", "granted",
                                           "ordered", "started", "done"});
  CHECK(document["events"][0]["at_ms"] == doctest::Approx(-1));
  const auto text = story_text(document);
  CAPTURE(text);
  CHECK(has(text, "request 7 of model 'mlp' was finished; deadline 12.00 ms after its arrival"));
  CHECK(has(text, "    0.00 ms  arrives: 2 rows, to be answered within 12.00 ms\n"));
  CHECK(has(text, "is in the queue of 'mlp', where 1 row waits already"));
  CHECK(has(text, "offers a batch of 3 rows: to start at 2.00 ms, at 3.50 ms at the latest"));
  CHECK(has(
      text,
      "grants slot 3 to the candidate of 3 rows registered at 0.10 ms; 1 other candidate: 'bert' (5 rows, "
      "from 2.00 ms to 6.00 ms)"));
  CHECK(has(text, "batch 9 for slot 3, free at 2.10 ms: 3 rows in 2 requests, to start at 2.30 ms"));
  CHECK(has(text, "batch 9 is done, 1.60 ms before the deadline"));
}

TEST_CASE("a story gives the rule of a drop, with its numbers") {
  const auto told = [](const drop_decision& d) {
    decision_story s{request_of("dropped"), {}};
    s.request.drops = {d};
    return text_of(s);
  };
  CHECK(has(
      told({at(6.1), "late", "batching", 2, at(6.3), at(14.3)}),
      "is dropped as late: even alone it needs 8.20 ms (ℓ(2) = 7.00 ms, 0.20 ms until it could start, 1.00 "
      "ms for the answer), 5.90 ms are left"));
  CHECK(has(
      told({at(1), "shed", "batching", 11, at(1), at(18)}),
      "is dropped as shed: the batch of 11 rows that 'window' keeps possible needs 17.00 ms (ℓ(11) = 16.00 "
      "ms, "));
  CHECK(has(told({at(1), "shed", "batching", 0, never, never}), "decided by the batching policy 'deferred'"));
  CHECK(has(told({at(1), "queue_full", "queue_bound", 1, never, never}), "1 row waits, of at most 1 row"));
  CHECK(has(told({at(1), "no_capacity", "no_worker", 0, never, never}), "no live worker has the model"));
}

TEST_CASE("text shows the first and the last of many candidates, JSON shows all") {
  decision_story s{request_of("waiting"), {}};
  for (uint32_t i = 1; i <= 20; ++i) s.request.candidates.push_back({at(i), i, i, at(i + 1), at(i + 2)});
  const auto document = story_document(s, two_models());
  CHECK(document["events"].size() == 22);
  const auto text = story_text(document);
  CAPTURE(text);
  CHECK(has(text, "of 2 rows"));
  CHECK_FALSE(has(text, "batch of 3 rows"));
  CHECK(has(text, "15 more candidates"));
  CHECK_FALSE(has(text, "batch of 17 rows"));
  CHECK(has(text, "batch of 18 rows"));
}

TEST_CASE("a story comes from the request's queue, its grants from the queue's arbiter") {
  const address first{node_id{0}, {}, role::model_queue, 0}, second{node_id{0}, {}, role::model_queue, 1};
  const address arbiter{node_id{0}, {4}, role::rank_arbiter, 0};
  std::vector<std::string> asked;
  gateway_decision by_gateway;
  const asker ask = [&](const address& to, const std::string& type, const nlohmann::json&) {
    if (to.kind == role::gateway) return command_reply{0, true, to_json(by_gateway).dump()};
    asked.push_back(type);
    grant_story g;
    g.known = true;
    if (to == arbiter) return command_reply{0, true, to_json(g).dump()};
    request_story r;
    r.decision_log = 5;
    r.known = to == second;
    r.arbiter = arbiter;
    r.batches.resize(2);
    r.batches[1].known = true;
    return command_reply{0, true, to_json(r).dump()};
  };
  size_t remembering = 0;
  const auto s = find_story(request_id{7}, std::vector{first, second}, ask, remembering);
  REQUIRE(s);
  CHECK(remembering == 2);
  CHECK(asked == std::vector<std::string>{"explain_request", "explain_request", "explain_grant"});
  REQUIRE(s->grants.size() == 2);
  CHECK_FALSE(s->grants[0].known);  // the arbiter is unknown
  CHECK(s->grants[1].known);
  CHECK_FALSE(find_story(request_id{7}, std::vector{first}, ask, remembering));
  by_gateway.known = true;
  by_gateway.reason = "quota";
  const auto t = find_story(request_id{7}, std::vector{first}, ask, remembering);
  REQUIRE(t);
  CHECK_FALSE(t->request.known);
  CHECK(t->gateway.reason == "quota");
}

TEST_CASE("a story includes decisions of the gateway, with or without an entry of a queue") {
  decision_story s;
  s.request.id = request_id{7};
  s.request.model_name = "mlp";
  s.request.rows = 1;
  s.request.arrival = at(0);
  s.request.deadline = at(12);
  auto& g = s.gateway;
  g.known = g.at_admission = true;
  g.at = at(0.1);
  g.outcome = "dropped";
  g.reason = "queue_full";
  g.in_flight = g.max_in_flight = 300;
  const auto document = story_document(s, two_models());
  CHECK(document["reason"] == "queue_full");
  CHECK_FALSE(document.contains("batching"));
  CHECK(story_text(document) ==
        "request 7 of model 'mlp' was dropped; deadline 12.00 ms after its arrival\n\n"
        "    0.00 ms  arrives: 1 row, to be answered within 12.00 ms\n"
        "    0.10 ms  its gateway rejects it as queue_full: 300 requests are in flight there, of at most 300 "
        "(limits.requests_in_flight)\n");
  g.reason = "quota";
  g.tenant = "alice";
  g.detail = "rate";
  g.retry_after = 20ms;
  CHECK(has(text_of(s), "as quota: tenant 'alice' is at its rate; retry after 20.00 ms"));
  s.request = request_of("running");
  g = {};
  g.known = true;
  g.at = at(1012);
  g.deadline = at(12);
  g.outcome = "failed";
  g.reason = "timeout";
  const auto text = text_of(s);
  CAPTURE(text);
  CHECK(has(text,
            "request 7 of model 'mlp' has failed; deadline 12.00 ms after its arrival; deferred, window"));
  CHECK(has(text,
            " 1012.00 ms  its gateway gives it up as timeout: it had no answer 1000.00 ms after its deadline "
            "(limits.request_timeout_ms)\n"));
}

TEST_CASE("a story names the preempting batch, and the outcome of the preempted requests") {
  decision_story s{request_of("dropped"), {}};
  batch_decision b;
  b.attempt = 1;
  b.known = true;
  b.batch = batch_id{9};
  b.slot = slot_id{3};
  b.granted_at = b.free_at = b.exec_at = at(1);
  b.start_by = at(4);
  b.planned_end = at(9);
  b.rows = b.requests = 2;
  b.end = "preempted";
  b.started_at = at(1);
  b.finished_at = at(4);
  s.request.batches = {b};
  grant_story g;
  g.known = true;
  g.at = g.free_at = at(1);
  g.slot = slot_id{3};
  g.taken_at = at(3.5);
  g.taken_by = model_id{1};
  g.taken_rows = 7;
  s.grants = {g};
  s.request.drops = {{at(4), "late", "preempted", 2, at(4), at(13)}};
  const auto document = story_document(s, two_models());
  CHECK(document["events"][5]["event"] == "preempted");
  CHECK(document["events"][5]["by_model"] == 1);
  const auto text = story_text(document);
  CAPTURE(text);
  CHECK(has(text, "    1.00 ms  batch 9 starts on slot 3\n"));
  CHECK(has(text,
            "    4.00 ms  batch 9 is preempted by a batch of 7 rows of 'bert', which the arbiter granted its "
            "slot at 3.50 ms; the 3.00 ms that it ran are lost\n"));
  CHECK(has(text,
            "is dropped as late: its batch was preempted, and even alone it needs 9.00 ms more, 8.00 ms "
            "are left"));
  s.grants[0].preempts = true;
  s.grants[0].taken_at = never;
  const auto other = text_of(s);
  CAPTURE(other);
  CHECK(
      has(other,
          "the arbiter grants slot 3; there is no other candidate; the batch that runs there is preempted"));
  CHECK(has(other, "batch 9 is preempted; the 3.00 ms"));
}
