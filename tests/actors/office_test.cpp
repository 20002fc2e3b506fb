// What shells do when the office of the scheduler changes hands.
#include "actors/gpu_worker.hpp"
#include "actors/model_queue.hpp"
#include "actors/rank_arbiter.hpp"
#include "gpu/emulated_device.hpp"
#include "messages/json.hpp"
#include "tests/actors/gateway_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr node_id spare_node{3};
constexpr incarnation spare_life{30};
constexpr tenure first{{100}, scheduler_node, {10}}, second{{203}, spare_node, spare_life};
constexpr address spare_arbiter{spare_node, spare_life, role::rank_arbiter, 0};
constexpr address spare_queue{spare_node, spare_life, role::model_queue, 0};

struct gateway_of_line : gateway_stage {
  explicit gateway_of_line(size_t max_in_flight = 100) : gateway_stage(line_options(max_in_flight)) {}
  static gateway::options line_options(size_t max_in_flight) {
    auto o = options(max_in_flight);
    o.line = {scheduler_node, spare_node};
    return o;
  }
  void both_up() {
    tell(node_up{spare_node, spare_life});
    tell(first);
  }
  std::vector<uint64_t> submitted_to(node_id node) {
    std::vector<uint64_t> ids;
    for (const auto& [to, s] : out.take_addressed<submit>()) {
      CHECK(to.node == node);
      for (const auto& r : s.requests) ids.push_back(r.id.value);
    }
    return ids;
  }
};

using ids = std::vector<uint64_t>;

}  // namespace

TEST_CASE("office, gateway: what comes before anybody holds it waits for the first who does") {
  gateway_of_line g;
  g.arrive(1);
  CHECK(g.open(1));
  CHECK(g.submitted_to(scheduler_node).empty());
  g.both_up();
  CHECK(g.submitted_to(scheduler_node) == ids{1});
  g.arrive(2);
  CHECK(g.submitted_to(scheduler_node) == ids{2});
}

TEST_CASE("office, gateway: a new scheduler gets all that has no fate, and the old one is not believed") {
  gateway_of_line g;
  g.both_up();
  for (uint64_t id = 1; id <= 4; ++id) g.arrive(id);
  g.complete(1);  // its output is being pulled
  g.drop(2, drop_reason::late);
  g.out.forget();
  SUBCASE("that died") {
    g.tell(node_down{scheduler_node, {10}, true});
    g.arrive(5);
    CHECK(g.submitted_to(scheduler_node).empty());
    g.tell(second);
    CHECK(g.submitted_to(spare_node) == ids{3, 4, 5});
  }
  SUBCASE("that is only slow") {
    g.tell(second);
    CHECK(g.submitted_to(spare_node) == ids{3, 4});
    g.drop(3, drop_reason::late);
    CHECK(g.open(3));
    g.tell(completion{{1}, 1, {{request_id{3}, 1, failure::worker_lost, {}, {}}}}, the_queue);
    CHECK(g.open(3));
    g.tell(first);  // never back
    CHECK(g.submitted_to(spare_node).empty());
  }
  SUBCASE("which is heard of before it is met") {
    g.tell(node_down{spare_node, spare_life, true});
    g.tell(second);
    CHECK(g.submitted_to(spare_node).empty());
    g.tell(node_up{spare_node, spare_life});
    CHECK(g.submitted_to(spare_node) == ids{3, 4});
  }
  g.tell(drops{{{request_id{3}, 2, drop_reason::shed}}}, spare_queue);
  CHECK(g.fate(3).reason == drop_reason::shed);
  g.complete(4);  // a worker is believed whoever ordered it
  CHECK(g.open(4));
}

TEST_CASE("office, gateway: with the last of the line requests fail, and newcomers are refused") {
  gateway_of_line g;
  g.both_up();
  g.arrive(1);
  g.tell(node_down{spare_node, spare_life, true});
  CHECK(g.open(1));
  g.tell(node_down{scheduler_node, {10}, true});
  CHECK(g.fate(1).error == failure::scheduler_lost);
  g.arrive(2);
  CHECK(g.fate(2).reason == drop_reason::no_capacity);
}

TEST_CASE("office, gateway: what waited for a scheduler goes to it in parts that fit into frames, in order") {
  constexpr size_t all = 10'000, most = 5'000;
  gateway_of_line g(all);
  for (uint64_t id = 1; id <= all; ++id) g.arrive(id);
  g.both_up();
  ids heard;
  for (const auto& s : g.out.take<submit>()) {
    CHECK(s.requests.size() <= most);
    for (const auto& r : s.requests) heard.push_back(r.id.value);
  }
  CHECK(heard.size() == all);
  CHECK(std::is_sorted(heard.begin(), heard.end()));
}

TEST_CASE(
    "office, gateway: when a client hangs up in the turn of a takeover, a worker may still read its input") {
  gateway_of_line g;
  g.both_up();
  g.arrive(1);
  g.out.forget();
  g.note(second);
  g.tell(client_gone{request_id{1}});
  CHECK(g.fate(1).reason == drop_reason::cancelled);
  CHECK(g.submitted_to(spare_node).empty());
  CHECK(g.out.one<cancel>().id == request_id{1});
  CHECK(g.memory.in_use() == 1);
  g.complete(1);
  CHECK(g.memory.in_use() == 0);
}

namespace {

struct worker_parts {
  emulated_device device;
  scripted_memory memory{worker_node};
};

/// ℓ(b) = b + 5; requests without bytes.
struct worker_stage : worker_parts, stage<gpu_worker> {
  worker_stage() : stage(worker_of(0), gpu_worker::options{slot_id{0}}, device, memory) {
    const auto s = ready(0, 12, 0, 0);
    model_source m;
    m.signature = s.models[0].signature;
    m.latency = {1ms, 5ms};
    device.load(model_id{0}, m);
    tell(s);
    tell(node_up{gateway_node, {11}});
    tell(node_up{scheduler_node, {10}});
    tell(node_up{spare_node, spare_life});
    tell(first);
    CHECK(out.take<handover>().size() == 1);
  }
  void order(uint64_t batch, uint64_t id, const tenure& by) {
    request r;
    r.id = request_id{id};
    r.gateway = the_gateway;
    tell(batch_order{{batch},
                     by.reign,
                     model_id{0},
                     slot_id{0},
                     {by.scheduler, by.life, role::model_queue, 0},
                     now,
                     now,
                     never,
                     {r}});
  }
};

}  // namespace

TEST_CASE("office, gpu_worker: hands over what runs, gives up what waits, refuses what comes late") {
  worker_stage w;
  w.order(1, 1, first);
  w.order(2, 2, first);
  w.out.forget();
  w.tell(second);
  const auto said = w.out.take_addressed<handover>();
  REQUIRE(said.size() == 1);
  CHECK(said[0].first == spare_arbiter);
  const auto& h = said[0].second;
  CHECK(h.reign == second.reign);
  CHECK(h.worker == worker_of(0));
  CHECK(h.batch == batch_id{1});
  REQUIRE(h.requests.size() == 1);
  CHECK(h.requests[0].id == request_id{1});
  w.order(3, 3, first);
  CHECK(w.out.take<batch_done>().front().refused == refusal::old_epoch);
  w.order(4, 4, second);
  w.run_until(at(6));  // the end of the first batch is told to the new scheduler
  for (const auto& [to, d] : w.out.take_addressed<batch_done>()) {
    CHECK(to.node == spare_node);
    CHECK(d.batch == batch_id{1});
    CHECK(d.refused == refusal::none);
  }
  w.run_until(at(20));
  const auto done = w.out.take<batch_done>();
  REQUIRE_FALSE(done.empty());
  CHECK(done.front().batch == batch_id{4});  // nothing in between
}

TEST_CASE("office, gpu_worker: tells a new scheduler once it is up") {
  worker_stage w;
  w.tell(node_down{spare_node, spare_life, true});
  w.tell(second);
  CHECK(w.out.take<handover>().empty());
  w.tell(node_up{spare_node, spare_life});
  CHECK(w.out.one<handover>().batch == batch_id{});
}

namespace {

struct queue_stage : stage<model_queue> {
  explicit queue_stage(const address& self = spare_queue, const tenure& known = first)
      : stage(self, options(), make_batching("eager", "timeout", parameters())) {
    tell(ready(0));
    tell(known);
    out.forget();
  }
  static batching_parameters parameters() {
    batching_parameters p;
    p.latency = {1ms, 5ms};
    p.slo = 12ms;
    return p;
  }
  static model_queue::options options() {
    model_queue::options o;
    o.name = "m";
    o.arbiter = spare_arbiter;
    o.elected = true;
    o.latency_given = true;
    return o;
  }
  request ask(uint64_t id) const {
    request r;
    r.id = request_id{id};
    r.gateway = the_gateway;
    r.arrival = now;
    r.deadline = now + 12ms;
    return r;
  }
  void arrive(uint64_t id) { tell(submit{{ask(id)}}, the_gateway); }
  void grant_slot() { tell(grant{model_id{0}, 1, slot_id{0}, worker_of(0), now}, spare_arbiter); }
};

}  // namespace

TEST_CASE("office, model_queue: a standby takes nothing, its orders in office carry the reign") {
  queue_stage q;
  q.arrive(1);
  CHECK(q.out.take<candidate>().empty());
  q.tell(second);
  q.arrive(2);
  q.grant_slot();
  const auto o = q.out.one<batch_order>();
  CHECK(o.reign == second.reign);
  REQUIRE(o.requests.size() == 1);
  CHECK(o.requests[0].id == request_id{2});
}

TEST_CASE(
    "office, model_queue: what still runs is not ordered again, and is tried again if its worker dies") {
  queue_stage q;
  q.tell(second);
  q.arrive(1);  // before the worker has said that it runs
  const handover h{slot_id{0}, worker_of(0), second.reign, {7}, model_id{0}, {q.ask(1), q.ask(2)}};
  q.tell(h, spare_arbiter);
  q.arrive(2);  // after it
  q.arrive(3);
  q.grant_slot();
  const auto o = q.out.one<batch_order>();
  CHECK(o.batch.value > 7);
  REQUIRE(o.requests.size() == 1);
  CHECK(o.requests[0].id == request_id{3});
  SUBCASE("done") {
    q.tell(batch_done{{7}, model_id{0}, slot_id{0}, refusal::none, 2, q.now, q.now, {}}, worker_of(0));
    CHECK(q.actor.unfinished() == 1);
  }
  SUBCASE("lost") {
    q.tell(ready(1, 20));
    q.tell(node_down{worker_node, {12}, true});
    CHECK(q.out.take<candidate>().back().alone);  // suspects
  }
}

TEST_CASE("office, model_queue: a handover that comes late is not taken for a batch of this reign") {
  queue_stage earlier(the_queue), q;
  earlier.arrive(1);
  earlier.grant_slot();
  const auto old = earlier.out.one<batch_order>();
  q.tell(second);
  q.arrive(2);
  q.grant_slot();
  const auto mine = q.out.one<batch_order>();
  q.tell(handover{slot_id{1}, worker_of(1), second.reign, old.batch, model_id{0}, old.requests},
         spare_arbiter);
  CHECK(q.actor.unfinished() == 2);
  q.tell(batch_done{old.batch, model_id{0}, slot_id{1}, refusal::none, 1, q.now, q.now, {}}, worker_of(1));
  CHECK(q.actor.unfinished() == 1);
  q.tell(batch_done{mine.batch, model_id{0}, slot_id{0}, refusal::busy, 0, q.now, q.now, {}}, worker_of(0));
  q.grant_slot();
  CHECK(q.out.one<batch_order>().requests.at(0).id == request_id{2});
}

TEST_CASE("office, model_queue: the end of a batch may overtake its handover") {
  queue_stage q;
  q.tell(second);
  q.arrive(1);
  const handover h{slot_id{0}, worker_of(0), second.reign, {7}, model_id{0}, {q.ask(1), q.ask(2)}};
  SUBCASE("of one that ran") {
    q.tell(batch_done{{7}, model_id{0}, slot_id{0}, refusal::none, 2, q.now, q.now, {}}, worker_of(0));
    q.tell(h, spare_arbiter);
    q.arrive(2);
    CHECK(q.actor.unfinished() == 0);
  }
  SUBCASE("of one that did not") {
    q.tell(batch_done{{7}, model_id{0}, slot_id{0}, refusal::busy, 0, q.now, q.now, {}}, worker_of(0));
    q.tell(h, spare_arbiter);
    CHECK(q.actor.unfinished() == 2);
  }
}

TEST_CASE("office, model_queue: takeovers use up no attempts") {
  queue_stage q;
  q.tell(second);
  auto r = q.ask(1);
  r.attempt = 7;
  q.tell(submit{{r}}, the_gateway);
  for (int refused = 0; refused < 2; ++refused) {
    q.grant_slot();
    const auto o = q.out.one<batch_order>();
    q.tell(batch_done{o.batch, o.model, o.slot, refusal::busy, 0, q.now, q.now, {}}, worker_of(0));
  }
  CHECK(q.out.take<drops>().empty());
  q.grant_slot();
  CHECK(q.out.one<batch_order>().requests.at(0).attempt == 9);
}

TEST_CASE(
    "office, model_queue: one that has just begun keeps what comes before it is told who is in office") {
  queue_stage q(spare_queue, tenure{});
  q.arrive(1);
  CHECK(q.out.take<candidate>().empty());
  SUBCASE("this node") {
    q.tell(second);
    q.grant_slot();
    CHECK(q.out.one<batch_order>().requests.at(0).id == request_id{1});
  }
  SUBCASE("another, to which it will be submitted again") {
    q.tell(first);
    CHECK(q.actor.unfinished() == 0);
    CHECK(q.out.take<drops>().empty());
  }
}

TEST_CASE("office, model_queue: who is deposed forgets what it had, and says nothing of it") {
  queue_stage q;
  q.tell(second);
  q.arrive(1);
  q.out.forget();
  q.tell(tenure{{300}, scheduler_node, {10}});
  CHECK(q.actor.unfinished() == 0);
  q.arrive(2);
  CHECK(q.actor.unfinished() == 0);
  CHECK(q.out.take<drops>().empty());
}

namespace {

constexpr node_id other_worker{4};

struct arbiter_stage : stage<rank_arbiter> {
  arbiter_stage() : stage(spare_arbiter, make_matchmaking("lowest_id"), options()) {
    tell(ready(0));
    tell(ready(1));
    tell(first);
  }
  static rank_arbiter::options options() {
    rank_arbiter::options o;
    o.elected = true;
    o.nodes_of_slots = {worker_node, worker_node, other_worker};
    return o;
  }
  void offer() { tell(candidate{model_id{0}, 1, 1, now, at(100), {}}, spare_queue); }
  void hand_over(uint32_t slot, uint64_t batch = 0, epoch reign = second.reign) {
    handover h{slot_id{slot}, worker_of(slot), reign, {batch}, model_id{0}, {}};
    if (batch > 0) h.requests.resize(1);
    tell(std::move(h), worker_of(slot));
  }
};

}  // namespace

TEST_CASE("office, rank_arbiter: grants nothing before all slots have handed over") {
  arbiter_stage a;
  a.offer();
  CHECK(a.out.take<grant>().empty());
  a.tell(second);
  a.offer();
  a.hand_over(1, 0, first.reign);  // of another tenure
  a.hand_over(0);
  CHECK(a.out.take<grant>().empty());
  SUBCASE("the last one") {
    a.hand_over(1);
    CHECK(a.out.one<grant>().slot == slot_id{0});
  }
  SUBCASE("or its worker is gone") {
    a.tell(node_down{worker_node, {12}, true});
    CHECK(a.out.take<grant>().empty());  // so is the other slot
    a.tell(ready(0, 20));
    handover h{slot_id{0}, worker_of(0, 20), second.reign, {}, {}, {}};
    a.tell(h, worker_of(0, 20));
    CHECK(a.out.one<grant>().worker.life == incarnation{20});
  }
  SUBCASE("also of a worker that leaves") {
    a.tell(node_leaving{worker_node, {12}});
    CHECK(a.out.take<grant>().empty());
  }
}

TEST_CASE(
    "office, rank_arbiter: a worker that is up may run something before it says that its slots are ready") {
  arbiter_stage a;
  a.tell(node_up{other_worker, {40}});
  a.tell(second);
  a.offer();
  a.hand_over(0);
  a.hand_over(1);
  CHECK(a.out.take<grant>().empty());
  SUBCASE("until it hands over") {
    const address other{other_worker, {40}, role::gpu_worker, 2};
    a.tell(handover{slot_id{2}, other, second.reign, {}, {}, {}}, other);
  }
  SUBCASE("or is gone") { a.tell(node_down{other_worker, {40}, true}); }
  CHECK(a.out.one<grant>().slot == slot_id{0});
}

TEST_CASE("office, rank_arbiter: when a slot is free that runs something of an earlier reign is not known") {
  arbiter_stage a;
  a.tell(second);
  a.hand_over(0, 7);
  a.hand_over(1);
  const auto told = a.actor.on_command({1, "get_state", {}}, a.now);
  REQUIRE(told.ok);
  const auto state = from_json<arbiter_state>(nlohmann::json::parse(told.body));
  REQUIRE(state.slots.size() == 2);
  CHECK(state.slots[0].orders == 1);
  CHECK(state.slots[0].free_in == duration{});
}

TEST_CASE("office, rank_arbiter: a slot that still runs something is granted when that is done") {
  arbiter_stage a;
  a.tell(second);
  a.hand_over(0, 7);
  const auto passed_on = a.out.take_addressed<handover>();
  REQUIRE(passed_on.size() == 1);
  CHECK(passed_on[0].first.kind == role::model_queue);
  a.tell(node_down{node_id{9}, {1}, true});
  a.hand_over(1, 8);
  a.offer();
  CHECK(a.out.take<grant>().empty());
  a.tell(batch_done{{8}, model_id{0}, slot_id{1}, refusal::none, 1, a.now, a.now, {}}, worker_of(1));
  CHECK(a.out.one<grant>().slot == slot_id{1});
}

TEST_CASE("office, rank_arbiter: who is deposed grants nothing") {
  arbiter_stage a;
  a.tell(second);
  a.hand_over(0);
  a.hand_over(1);
  a.tell(tenure{{300}, scheduler_node, {10}});
  a.offer();
  CHECK(a.out.take<grant>().empty());
  CHECK(a.figure("troupe_slots") == 0);
}
