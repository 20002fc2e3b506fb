#include "actors/llm_gateway.hpp"

#include "tests/actors/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct kept_fate {
  outcome::fate kind{};
  drop_reason reason{};
  failure error{};
  std::string detail;
};

struct door_parts : completion_port {
  explicit door_parts(const std::vector<tenant_quota>& quotas) : desk(quotas) {
    cluster.llms.resize(1);
    cluster.llms[0].name = "m";
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
    tell(node_up{worker_node, {12}});
  }
  static llm_gateway::options options() {
    llm_gateway::options o;
    o.models = {{"m", worker_node}};
    o.max_in_flight = 3;
    o.drain_timeout = 7s;
    return o;
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
  void get(uint64_t id, llm::token which, finish_reason finish = finish_reason::none, uint32_t choice = 0) {
    tell(generated{{{request_id{id}, choice, which, -1, {}, finish}}}, the_engine);
  }
  void check_clean() {
    CHECK(actor.balanced());
    CHECK(actor.unfinished() == 0);
  }
};

}  // namespace

TEST_CASE("llm gateway: sends a request to the engine of its model and hands its tokens on until the last") {
  door_stage g;
  g.ask(1);
  const auto sent = g.out.take_addressed<generate>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first.kind == role::llm_engine);
  CHECK(sent[0].second.requests[0].gateway == the_llm_gateway);
  g.get(1, 5);
  g.get(1, 6, finish_reason::stop);
  g.get(1, 7);  // late
  CHECK(g.tokens.size() == 2);
  CHECK(g.fates.at(1).kind == outcome::fate::finished);
  g.check_clean();
}

TEST_CASE(
    "llm gateway: a choice that its client has enough of is ended, and the request with the last of them") {
  door_stage g;
  g.enough = 9;
  g.ask(1, 0, 2);
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
  g.ask(1, 1);
  g.ask(2, 1);
  CHECK(g.fates.at(2).reason == drop_reason::quota);
  CHECK(g.fates.at(2).detail == "concurrency");
  g.ask(3);
  g.ask(4);
  g.ask(5);
  CHECK(g.fates.at(5).reason == drop_reason::queue_full);
  g.get(1, 1, finish_reason::stop);
  g.ask(6, 1);
  CHECK_FALSE(g.fates.contains(6));
  g.tell(drain{});
  g.ask(7);
  CHECK(g.fates.at(7).reason == drop_reason::draining);
  for (uint64_t id : {3, 4, 6}) g.get(id, 1, finish_reason::stop);
  g.check_clean();
}

TEST_CASE("llm gateway: a client that leaves, and a time that is over, cancel the request in the engine") {
  door_stage g;
  g.ask(1);
  g.ask(2);
  g.tell(client_gone{{1}});
  CHECK(g.out.one<cancel>().id == request_id{1});
  CHECK(g.fates.at(1).reason == drop_reason::cancelled);
  g.run_until(g.now + 11s);
  CHECK(g.out.one<cancel>().id == request_id{2});
  CHECK(g.fates.at(2).error == failure::timeout);
  g.check_clean();
}

TEST_CASE("llm gateway: what an engine gives up or fails at ends so") {
  door_stage g;
  g.ask(1);
  g.ask(2);
  g.tell(drops{{{{1}, 1, drop_reason::queue_full}}}, the_engine);
  g.tell(completion{{}, 0, {{{2}, 1, failure::device_error, {}, "why"}}}, the_engine);
  CHECK(g.fates.at(1).reason == drop_reason::queue_full);
  CHECK(g.fates.at(2).detail == "why");
  g.check_clean();
}

TEST_CASE(
    "llm gateway: an engine that dies fails its requests, and its adapters are unknown until the next one "
    "tells") {
  door_stage g;
  engine_status s;
  s.ready = true;
  g.tell(s, the_engine);
  g.tell(adapters_known{{}, true, {{"a", "/a"}}, {}}, the_engine);
  CHECK(g.catalog->find("m")->up);
  CHECK(g.catalog->find("a")->adapter == "a");
  g.ask(1);
  g.tell(change_adapter{5, {}, true, {"b", "/b"}});
  CHECK(g.out.one<change_adapter>().adapter.name == "b");
  g.tell(node_down{worker_node, {12}});
  CHECK(g.fates.at(1).error == failure::worker_lost);
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
  g.ask(1);
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
  CHECK(g.out.take<generate>().empty());
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
  CHECK(g.out.one<generate>().requests.size() == 3);
  CHECK(g.fates.at(4).reason == drop_reason::queue_full);
  for (uint64_t id = 1; id <= 3; ++id) g.get(id, 1, finish_reason::length);
  g.check_clean();
}
