#include "actors/llm_gateway.hpp"

#include "tests/actors/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address the_router{scheduler_node, {10}, role::llm_router, 0};

struct kept_fate {
  outcome::fate kind{};
  drop_reason reason{};
  failure error{};
  std::string detail;
};

constexpr node_id other_node{3};
constexpr engine_id first{0}, second{1};

std::vector<engine_spec> two_engines() { return {{{}, worker_node}, {{}, other_node}}; }

struct door_parts : completion_port {
  explicit door_parts(const std::vector<tenant_quota>& quotas) : desk(quotas) {
    cluster.llms.resize(1);
    cluster.llms[0].name = "m";
    cluster.engines = two_engines();
    catalog.emplace(cluster);
  }
  bool token(const generated_token& t) override {
    tokens.push_back(t);
    return enough == t.which;
  }
  void ended(request_id id, const outcome& how) override {
    CHECK(
        fates.emplace(id.value, kept_fate{how.kind, how.reason, how.error, std::string(how.detail)}).second);
  }
  void adapter_changed(const troupe::adapter_changed& a) override { changes.push_back(a); }

  cluster_spec cluster;
  std::optional<llm_catalog> catalog;
  tenant_desk desk;
  std::vector<generated_token> tokens;
  std::vector<troupe::adapter_changed> changes;
  std::map<uint64_t, kept_fate> fates;
  llm::token enough = -1;
};

struct door_stage : door_parts, stage<llm_gateway> {
  explicit door_stage(const std::vector<tenant_quota>& quotas = {})
      : door_parts(quotas),
        stage(the_llm_gateway, options(), static_cast<completion_port&>(*this), desk, *catalog) {
    tell(node_up{scheduler_node, {10}});
    tell(node_up{worker_node, {12}});
    out.forget();
  }
  static llm_gateway::options options() {
    llm_gateway::options o;
    o.models = {"m"};
    o.engines = two_engines();
    o.routers = {scheduler_node};
    o.max_in_flight = 3;
    o.drain_timeout = 7s;
    return o;
  }
  /// As the router has it now.
  void place(uint64_t id, engine_id to, route_reason why = route_reason::placed) {
    for (const auto& r : out.take<route>())
      for (const auto& asked : r.requests) versions[asked.id.value] = asked.version;
    tell(placements{{}, {{request_id{id}, versions[id], to, why}}}, the_router);
  }
  /// Asks, and the router says the first engine.
  void send_to_engine(uint64_t id, uint32_t tenant = 0, uint32_t choices = 1) {
    ask(id, tenant, choices);
    place(id, first);
  }
  void ask(uint64_t id, uint32_t tenant = 0, uint32_t choices = 1) {
    generation g;
    g.id = request_id{id};
    g.tenant = tenant;
    g.prompt = {1, 2};
    g.max_tokens = 4;
    g.choices = choices;
    g.arrival = now;
    g.deadline = now + 10s;
    tell(generation_request{{g}});
  }
  void say_ready(engine_id e) {
    engine_status s;
    s.engine = e;
    s.ready = true;
    tell(s, address{e == first ? worker_node : other_node, {}, role::llm_engine, e.value});
  }
  void get(uint64_t id, llm::token which, finish_reason finish = finish_reason::none, uint32_t choice = 0,
           uint32_t attempt = 1) {
    tell(generated{{{request_id{id}, attempt, choice, which, -1, {}, finish}}}, the_engine);
  }
  std::map<uint64_t, uint32_t> versions;

  void check_clean() {
    CHECK(actor.balanced());
    CHECK(actor.unfinished() == 0);
  }
};

}  // namespace

TEST_CASE("llm gateway: sends a request where its router says and hands its tokens on until the last") {
  door_stage g;
  g.ask(1);
  const auto asked = g.out.one<route>();
  REQUIRE(asked.requests.size() == 1);
  CHECK(asked.requests[0].tokens == 2);
  CHECK(asked.requests[0].at == no_engine);
  CHECK(g.out.take<generate>().empty());
  g.versions[1] = asked.requests[0].version;
  g.place(1, first);
  const auto sent = g.out.take_addressed<generate>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first == address{worker_node, {}, role::llm_engine, 0});
  CHECK(sent[0].second.requests[0].gateway == the_llm_gateway);
  g.get(1, 5);
  g.get(1, 6, finish_reason::stop);
  g.get(1, 7);  // late
  CHECK(g.tokens.size() == 2);
  CHECK(g.fates.at(1).kind == outcome::fate::finished);
  CHECK(g.out.one<route_ends>().requests == std::vector{request_id{1}});
  g.check_clean();
}

TEST_CASE(
    "llm gateway: a choice that its client has enough of is ended, and the request with the last of them") {
  door_stage g;
  g.enough = 9;
  g.send_to_engine(1, 0, 2);
  g.get(1, 9, finish_reason::none, 1);
  const auto end = g.out.one<end_choice>();
  CHECK(end.choice == 1);
  g.get(1, 4, finish_reason::none, 1);  // was under way
  CHECK(g.tokens.size() == 1);
  CHECK(g.fates.empty());
  g.get(1, 3, finish_reason::length, 0);
  CHECK(g.fates.at(1).kind == outcome::fate::finished);
  g.check_clean();
}

TEST_CASE(
    "llm gateway: refuses at once what it cannot hold, what its tenant may not ask, and all while it "
    "drains") {
  door_stage g({{0, 1, 1}});
  g.send_to_engine(1, 1);
  g.ask(2, 1);
  CHECK(g.fates.at(2).reason == drop_reason::quota);
  CHECK(g.fates.at(2).detail == "concurrency");
  g.send_to_engine(3);
  g.send_to_engine(4);
  g.ask(5);
  CHECK(g.fates.at(5).reason == drop_reason::queue_full);
  g.get(1, 1, finish_reason::stop);
  g.send_to_engine(6, 1);
  CHECK_FALSE(g.fates.contains(6));
  g.tell(drain{});
  g.ask(7);
  CHECK(g.fates.at(7).reason == drop_reason::draining);
  for (uint64_t id : {3, 4, 6}) g.get(id, 1, finish_reason::stop);
  g.check_clean();
}

TEST_CASE("llm gateway: what is too late for its engine is dropped, and not asked for again") {
  door_stage g;
  g.send_to_engine(1);
  g.tell(drops{{{request_id{1}, 1, drop_reason::late}}}, the_engine);
  CHECK(g.fates.at(1).reason == drop_reason::late);
  g.check_clean();
}

TEST_CASE("llm gateway: a client that leaves, and a time that is over, cancel the request in the engine") {
  door_stage g;
  g.send_to_engine(1);
  g.send_to_engine(2);
  g.tell(client_gone{{1}});
  CHECK(g.out.one<cancel>().id == request_id{1});
  CHECK(g.fates.at(1).reason == drop_reason::cancelled);
  g.run_until(g.now + 11s);
  CHECK(g.out.one<cancel>().id == request_id{2});
  CHECK(g.fates.at(2).error == failure::timeout);
  g.check_clean();
}

TEST_CASE("llm gateway: what a router has no place for or an engine fails at ends so") {
  door_stage g;
  g.ask(1);
  g.tell(drops{{{{1}, g.out.one<route>().requests[0].version, drop_reason::queue_full}}}, the_router);
  g.send_to_engine(2);
  g.tell(completion{{}, 0, {{{2}, 2, failure::device_error, {}, "another attempt"}}}, the_engine);
  CHECK_FALSE(g.fates.contains(2));
  g.tell(completion{{}, 0, {{{2}, 1, failure::device_error, {}, "why"}}}, the_engine);
  CHECK(g.fates.at(1).reason == drop_reason::queue_full);
  CHECK(g.fates.at(2).detail == "why");
  g.check_clean();
}

TEST_CASE(
    "llm gateway: the last engine that dies fails the requests, and its adapters are known until the next "
    "one tells") {
  door_stage g;
  engine_status s;
  s.ready = true;
  g.tell(s, the_engine);
  g.tell(adapters_known{{}, {}, true, {{"a", "/a"}}, {}}, the_engine);
  CHECK(g.catalog->find("m")->up);
  CHECK(g.catalog->find("a")->adapter == "a");
  g.send_to_engine(1);
  g.ask(9);
  g.tell(change_adapter{5, {}, true, {"b", "/b"}});
  CHECK(g.out.one<change_adapter>().adapter.name == "b");
  g.tell(node_down{worker_node, {12}});
  CHECK(g.fates.at(1).error == failure::worker_lost);
  CHECK(g.fates.at(9).error == failure::worker_lost);
  REQUIRE(g.changes.size() == 1);
  CHECK(g.changes[0].answer == adapter_answer::refused);
  CHECK_FALSE(g.catalog->find("m")->up);
  CHECK_FALSE(g.catalog->find("a")->up);  // 503, not 404: it may be back in a moment
  CHECK(g.catalog->served_once());
  g.ask(2);
  CHECK(g.fates.at(2).reason == drop_reason::no_capacity);
  g.tell(change_adapter{6, {}, true, {"b", "/b"}});
  CHECK(g.changes.size() == 2);
  g.check_clean();
}

TEST_CASE("llm gateway: a new life of its own node fails all that the old one held") {
  door_stage g;
  g.say_ready(first);
  g.send_to_engine(1);
  g.tell(change_adapter{5, {}, true, {"b", "/b"}});
  g.tell(reborn{{13}});
  CHECK(g.changes.size() == 1);
  CHECK(g.fates.at(1).error == failure::node_fenced);
  g.check_clean();
}

TEST_CASE("llm gateway: a request whose time is over when it comes is never sent, nor cancelled") {
  door_stage g;
  generation late;
  late.id = request_id{1};
  late.prompt = {1};
  late.max_tokens = 1;
  late.arrival = g.now;
  late.deadline = g.now;
  g.tell(generation_request{{late}});
  g.run_until(g.now + 1s);
  CHECK(g.out.take<route>().empty());
  CHECK(g.out.take<cancel>().empty());
  CHECK(g.fates.at(1).error == failure::timeout);
  g.check_clean();
}

TEST_CASE("llm gateway: of several prompts each is a request, and what is refused is refused alone") {
  door_stage g;
  std::vector<generation> four(4);
  for (uint64_t i = 0; i < 4; ++i) {
    four[i].id = request_id{i + 1};
    four[i].prompt = {1};
    four[i].max_tokens = 1;
    four[i].deadline = g.now + 10s;
  }
  g.tell(generation_request{four});
  CHECK(g.fates.at(4).reason == drop_reason::queue_full);
  for (uint64_t id = 1; id <= 3; ++id) {
    g.place(id, first);
    g.get(id, 1, finish_reason::length);
  }
  CHECK(g.out.take<generate>().size() == 3);
  g.check_clean();
}

TEST_CASE("llm gateway: requests with more tokens than a frame holds go to an engine in several messages") {
  door_stage g;
  std::vector<generation> three(3);
  for (uint64_t i = 0; i < 3; ++i) {
    three[i].id = request_id{i + 1};
    three[i].prompt.resize(400'000, 1);
    three[i].max_tokens = 1;
    three[i].deadline = g.now + 10s;
  }
  g.tell(generation_request{three});
  placements all;
  for (const auto& asked : g.out.one<route>().requests)
    all.requests.push_back({asked.id, asked.version, first, route_reason::placed});
  g.tell(all, the_router);
  const auto sent = g.out.take<generate>();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].requests.size() == 2);
  CHECK(sent[1].requests[0].id == request_id{3});
  for (uint64_t id = 1; id <= 3; ++id) g.get(id, 1, finish_reason::length);
  g.check_clean();
}

TEST_CASE("llm gateway: a request that moves goes on from what its client has seen, and only there") {
  door_stage g;
  g.tell(node_up{other_node, {13}});
  g.send_to_engine(1);
  CHECK(g.out.one<generate>().requests[0].begun.empty());
  g.get(1, 5);
  g.place(1, second, route_reason::consolidated);
  const auto left = g.out.take_addressed<cancel>();
  REQUIRE(left.size() == 1);
  CHECK(left[0].first.node == worker_node);
  const auto sent = g.out.take_addressed<generate>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first == address{other_node, {}, role::llm_engine, 1});
  CHECK(sent[0].second.requests[0].attempt == 2);
  REQUIRE(sent[0].second.requests[0].begun.size() == 1);
  CHECK(sent[0].second.requests[0].begun[0].tokens == std::vector<llm::token>{5});
  g.get(1, 6);  // the first engine's, too late
  CHECK(g.tokens.size() == 1);
  g.tell(drops{{{{1}, 1, drop_reason::draining}}}, the_engine);
  g.get(1, 6, finish_reason::none, 0, 2);
  g.get(1, 7, finish_reason::stop, 0, 2);
  CHECK(g.tokens.size() == 3);
  CHECK(g.fates.at(1).kind == outcome::fate::finished);
  g.check_clean();
}

TEST_CASE("llm gateway: requests of an engine that dies go to another, up to a number of deaths") {
  door_stage g;
  g.tell(node_up{other_node, {13}});
  g.send_to_engine(1);
  g.get(1, 5);
  const auto stale = g.versions[1];
  uint64_t life = 12;
  for (int death = 0; death < 3; ++death) {
    g.tell(node_down{worker_node, {life}});
    const auto asked = g.out.one<route>().requests.at(0);
    CHECK(asked.begun);
    CHECK(asked.tokens == 3);
    CHECK(asked.at == no_engine);
    g.tell(placements{{}, {{request_id{1}, stale, second, route_reason::evicted}}}, the_router);
    g.out.forget();
    g.versions[1] = asked.version;
    g.tell(node_up{worker_node, {++life}});
    g.place(1, first);
    CHECK(g.out.one<generate>().requests[0].begun[0].tokens == std::vector<llm::token>{5});
  }
  g.tell(node_down{worker_node, {life}});
  CHECK(g.fates.at(1).error == failure::worker_lost);
  g.check_clean();
}

TEST_CASE("llm gateway: a request that its router sends to a dead engine is asked for again, not at once") {
  door_stage g;
  g.ask(1);
  g.place(1, second);  // not up, as the gateway sees it
  CHECK(g.out.take<generate>().empty());
  CHECK(g.out.take<route>().empty());
  g.run_until(g.now + 1s);
  const auto again = g.out.one<route>().requests.at(0);
  CHECK(again.at == no_engine);
  g.versions[1] = again.version;
  g.place(1, first);
  CHECK(g.out.take<generate>().size() == 1);
  g.tell(drops{{{{1}, 1, drop_reason::draining}}},
         the_engine);  // it leaves, and the router does not know yet
  g.run_until(g.now + 1s);
  CHECK(g.out.one<route>().requests.at(0).at == no_engine);
  g.tell(client_gone{{1}});
  g.check_clean();
}

TEST_CASE("llm gateway: a router that is new learns all, and what an earlier one said is void") {
  door_stage g;
  g.send_to_engine(1);
  g.ask(2);
  g.out.forget();
  const auto before = g.versions;
  g.tell(node_down{scheduler_node, {10}});
  g.get(1, 5);
  CHECK(g.tokens.size() == 1);  // goes on without a router
  g.ask(3);
  CHECK(g.fates.at(3).reason == drop_reason::no_capacity);
  g.tell(node_up{scheduler_node, {14}});
  const auto told = g.out.one<route>();
  CHECK(told.all);
  REQUIRE(told.requests.size() == 2);
  CHECK(told.requests[0].at == first);
  CHECK(told.requests[1].at == no_engine);
  g.tell(placements{{}, {{request_id{2}, before.at(1), first, route_reason::placed}}}, the_router);
  CHECK(g.out.take<generate>().empty());
  g.tell(client_gone{{1}});
  g.tell(client_gone{{2}});
  g.check_clean();
}

TEST_CASE("llm gateway: an engine that comes gets the adapters that the others have") {
  door_stage g;
  g.say_ready(first);
  g.tell(adapters_known{{}, first, true, {{"a", "/a"}, {"b", "/b"}}, {}}, the_engine);
  CHECK(g.out.take<change_adapter>().empty());
  g.tell(change_adapter{6, {}, false, {"b", ""}});  // it goes
  g.out.forget();
  const address other{other_node, {13}, role::llm_engine, 1};
  g.tell(node_up{other_node, {13}});
  g.out.forget();
  g.tell(adapters_known{{}, second, true, {{"c", "/c"}}, {}}, other);
  const auto loads = g.out.take_addressed<change_adapter>();
  REQUIRE(loads.size() == 1);
  CHECK(loads[0].first == address{other_node, {}, role::llm_engine, 1});
  CHECK(loads[0].second.load);
  CHECK(loads[0].second.adapter == adapter_entry{"a", "/a"});
  g.tell(troupe::adapter_changed{0, adapter_answer::refused, "no such file"}, other);
  CHECK(g.changes.empty());
}

TEST_CASE("llm gateway: all engines of a model have an adapter, or none") {
  door_stage g;
  g.tell(node_up{other_node, {13}});
  const address other{other_node, {13}, role::llm_engine, 1};
  g.say_ready(first);
  g.say_ready(second);
  g.tell(change_adapter{5, {}, true, {"b", "/b"}});
  CHECK(g.out.take<change_adapter>().size() == 2);
  g.tell(troupe::adapter_changed{5, adapter_answer::done, {}}, the_engine);
  CHECK(g.changes.empty());
  g.tell(troupe::adapter_changed{5, adapter_answer::refused, "no such file"}, other);
  REQUIRE(g.changes.size() == 1);
  CHECK(g.changes[0].message == "no such file");
  const auto back = g.out.take_addressed<change_adapter>();
  REQUIRE(back.size() == 1);
  CHECK(back[0].first.node == worker_node);
  CHECK_FALSE(back[0].second.load);
  g.tell(change_adapter{6, {}, false, {"b", "/b"}});
  g.tell(troupe::adapter_changed{6, adapter_answer::unknown, {}}, other);
  g.tell(troupe::adapter_changed{6, adapter_answer::done, {}}, the_engine);
  REQUIRE(g.changes.size() == 2);
  CHECK(g.changes[1].answer == adapter_answer::done);
}
