#include "actors/gateway.hpp"

#include <algorithm>
#include <set>

#include "policies/random.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct kept_outcome : outcome {
  explicit kept_outcome(const outcome& o) : outcome(o), bytes(o.output.begin(), o.output.end()) {}
  std::vector<std::byte> bytes;
};

struct gateway_parts : client_port {
  void answer(request_id id, const outcome& how) override {
    CHECK(answers.emplace(id, how).second);  // once
  }
  std::map<request_id, kept_outcome> answers;
  scripted_memory memory{gateway_node};
  scripted_memory far{worker_node};  // where the outputs are
};

struct gateway_stage : gateway_parts, stage<gateway> {
  explicit gateway_stage(size_t max_in_flight = 100) : gateway_stage(options(max_in_flight)) {}
  explicit gateway_stage(const gateway::options& o)
      : stage(the_gateway, o, memory, static_cast<client_port&>(*this)) {
    tell(node_up{scheduler_node, {10}});
  }
  static gateway::options options(size_t max_in_flight) {
    gateway::options o;
    o.drain_timeout = 7s;
    o.models = {"m"};
    o.scheduler = scheduler_node;
    o.max_in_flight = max_in_flight;
    o.timeout = 50ms;
    return o;
  }
  client_request ask(uint64_t id) {
    client_request c;
    c.asked.id = request_id{id};
    c.asked.arrival = now;
    c.asked.deadline = now + 12ms;
    c.asked.input = memory.take(4)->region;
    return c;
  }
  void arrive(uint64_t id) { tell(ask(id)); }

  result result_of(uint64_t id) {
    const auto output = far.take(8);
    std::ranges::fill(output->payload, static_cast<std::byte>(id));
    return {request_id{id}, 1, failure::none, output->region, {}};
  }
  void complete(uint64_t id) { tell(completion{{1}, 3, {result_of(id)}}, worker_of(0)); }
  void fail(uint64_t id, failure why) {
    tell(completion{{1}, 3, {{request_id{id}, 1, why, {}, {}}}}, worker_of(0));
  }
  void drop(uint64_t id, drop_reason why) { tell(drops{{{request_id{id}, 1, why}}}, the_queue); }
  void end_pull(pull_status status = pull_status::ok) { tell(memory.end_pull(far, status)); }
  /// The worker does as it is told.
  void apply_releases() {
    for (const auto& [to, r] : out.take_addressed<release>()) {
      CHECK(to == worker_of(0));
      for (const auto& region : r.regions) far.give_back(region);
    }
  }
  const kept_outcome& fate(uint64_t id) const {
    REQUIRE(answers.contains(request_id{id}));
    return answers.at(request_id{id});
  }
  bool open(uint64_t id) const { return !answers.contains(request_id{id}); }
  void check_clean() {
    apply_releases();
    CHECK(actor.balanced());
    CHECK(actor.in_flight() == 0);
    CHECK(memory.in_use() == 0);
    CHECK(far.in_use() == 0);
  }
};

}  // namespace

TEST_CASE("gateway: a request goes to its queue, its output is pulled, verified, answered and released") {
  gateway_stage g;
  g.arrive(1);
  const auto sent = g.out.take_addressed<submit>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first == address{scheduler_node, {}, role::model_queue, 0});
  CHECK(sent[0].second.requests.at(0).gateway == the_gateway);
  g.run_until(at(7));
  g.complete(1);
  CHECK(g.open(1));
  CHECK(g.memory.in_use() == 0);  // the worker has read the input
  g.run_until(at(8));
  g.end_pull();
  CHECK(g.fate(1).kind == outcome::fate::finished);
  CHECK(g.fate(1).bytes == std::vector<std::byte>(8, std::byte{1}));
  CHECK(g.fate(1).batch_rows == 3);
  CHECK(g.fate(1).latency == 8ms);
  g.check_clean();
}

TEST_CASE("gateway: an outcome tells when the request came and when its batch passed its stations") {
  gateway_stage g;
  g.run_until(at(1));
  g.arrive(1);
  const batch_times times{at(3), at(1), at(2), at(2), at(3), at(9)};
  g.tell(completion{{1}, 1, {g.result_of(1)}, times}, worker_of(0));
  g.end_pull();
  CHECK(g.fate(1).arrival == at(1));
  CHECK(g.fate(1).times == times);
  g.check_clean();
}

TEST_CASE("gateway: the requests of one turn travel together") {
  gateway_stage g;
  g.note(g.ask(1));
  g.note(g.ask(2));
  g.actor.on_time(g.now);
  CHECK(g.out.one<submit>().requests.size() == 2);
}

TEST_CASE("gateway: a drop is answered with its reason, a failure with its cause") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.drop(1, drop_reason::shed);
  g.fail(2, failure::device_error);
  CHECK(g.fate(1).kind == outcome::fate::dropped);
  CHECK(g.fate(1).reason == drop_reason::shed);
  CHECK(g.fate(2).kind == outcome::fate::failed);
  CHECK(g.fate(2).error == failure::device_error);
  CHECK(g.actor.books().total().dropped[static_cast<size_t>(drop_reason::shed)] == 1);
  g.check_clean();
}

TEST_CASE("gateway: of two fates the first wins, and late outputs are released unread") {
  gateway_stage g;
  g.arrive(1);
  g.drop(1, drop_reason::late);
  g.complete(1);
  CHECK(g.memory.pulls.empty());
  CHECK(g.fate(1).kind == outcome::fate::dropped);
  CHECK(g.figure("troupe_late_answers_total") == 1);

  g.arrive(2);
  g.complete(2);
  g.drop(2, drop_reason::late);  // while the output is on its way
  CHECK(g.open(2));
  g.complete(2);  // of another attempt
  g.end_pull();
  CHECK(g.fate(2).kind == outcome::fate::finished);
  g.check_clean();
}

TEST_CASE("gateway: a completion said twice does not release what is still being pulled") {
  gateway_stage g;
  g.arrive(1);
  const completion c{{1}, 1, {g.result_of(1)}};
  g.tell(c, worker_of(0));
  g.tell(c, worker_of(0));
  CHECK(g.out.take<release>().empty());
  CHECK(g.memory.pulls.size() == 1);
  g.end_pull();
  CHECK(g.fate(1).kind == outcome::fate::finished);
  g.check_clean();
}

TEST_CASE("gateway: an output without bytes finishes its request at once") {
  gateway_stage g;
  g.arrive(1);
  g.tell(completion{{1}, 1, {{request_id{1}, 1, failure::none, {}, {}}}}, worker_of(0));
  CHECK(g.fate(1).kind == outcome::fate::finished);
  CHECK(g.fate(1).bytes.empty());
  CHECK(g.memory.pulls.empty());
  CHECK(g.out.take<release>().empty());
  g.check_clean();
}

TEST_CASE("gateway: an output that is gone when it is pulled is a failure") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.complete(1);
  g.complete(2);
  g.far.give_back(g.memory.pulls[0].region);
  g.end_pull();
  CHECK(g.fate(1).error == failure::stale_memory);
  g.end_pull(pull_status::lost);
  CHECK(g.fate(2).error == failure::worker_lost);
  g.check_clean();
}

TEST_CASE("gateway: what gets no answer in time fails, and its input comes back later") {
  gateway_stage g;
  g.arrive(1);
  g.run_until(at(61.9));
  CHECK(g.open(1));
  g.run_until(at(62));  // deadline 12 and timeout 50
  CHECK(g.fate(1).error == failure::timeout);
  CHECK(g.memory.in_use() == 1);  // a worker may be reading it
  g.run_until(at(112));
  g.check_clean();
}

TEST_CASE("gateway: an answer after the timeout gives the input back at once") {
  gateway_stage g;
  g.arrive(1);
  g.run_until(at(70));
  g.complete(1);
  g.check_clean();
}

TEST_CASE("gateway: a pull under way at the timeout ends into memory that is still there") {
  gateway_stage g;
  g.arrive(1);
  g.complete(1);
  g.run_until(at(70));
  CHECK(g.fate(1).error == failure::timeout);
  CHECK(g.out.take<release>().empty());
  g.end_pull();
  g.check_clean();
}

TEST_CASE("gateway: a client that goes away cancels its request") {
  gateway_stage g;
  g.arrive(1);
  g.out.forget();
  g.tell(client_gone{request_id{1}});
  CHECK(g.out.one<cancel>().id == request_id{1});
  CHECK(g.fate(1).reason == drop_reason::cancelled);
  g.drop(1, drop_reason::cancelled);
  CHECK(g.memory.in_use() == 0);
  g.tell(client_gone{request_id{1}});
  CHECK(g.out.silent());

  g.arrive(2);
  g.complete(2);
  g.tell(client_gone{request_id{2}});
  g.end_pull();
  g.out.take<cancel>();
  g.check_clean();
}

TEST_CASE("gateway: a client that goes away in the turn of its request leaves no trace at the queue") {
  gateway_stage g;
  g.note(g.ask(1));
  g.note(client_gone{request_id{1}});
  g.actor.on_time(g.now);
  CHECK(g.out.silent());
  g.check_clean();
}

TEST_CASE("gateway: refuses at once when it is full, draining or without a scheduler") {
  gateway_stage g(1);
  g.arrive(1);
  g.arrive(2);
  CHECK(g.fate(2).reason == drop_reason::queue_full);
  g.tell(drain{});
  g.arrive(3);
  CHECK(g.fate(3).reason == drop_reason::draining);
  CHECK(g.fate(3).retry_after == 7s);  // as long as the drain may take
  CHECK(g.actor.unfinished() == 1);

  gateway_stage alone;
  alone.tell(node_leaving{scheduler_node, {10}});
  alone.arrive(1);
  CHECK(alone.fate(1).reason == drop_reason::no_capacity);
  alone.check_clean();
}

TEST_CASE("gateway: the death of the scheduler fails what it held, not what a worker has finished") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.complete(2);
  g.tell(node_down{scheduler_node, {10}});
  CHECK(g.fate(1).error == failure::scheduler_lost);
  CHECK(g.open(2));
  g.end_pull();
  CHECK(g.fate(2).kind == outcome::fate::finished);
  g.arrive(3);
  CHECK(g.fate(3).reason == drop_reason::no_capacity);
  g.tell(node_up{scheduler_node, {20}});
  g.arrive(4);
  CHECK(g.open(4));
}

TEST_CASE("gateway: a new life fails all that the old one had accepted") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.complete(2);
  g.tell(reborn{{40}});
  CHECK(g.fate(1).error == failure::node_fenced);
  CHECK(g.fate(2).error == failure::node_fenced);
  g.end_pull();
  g.check_clean();
}

TEST_CASE("gateway: every request gets one fate and no memory is lost, whatever comes in whatever order") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    gateway_stage g;
    random_stream random(seed, "gateway");
    std::vector<shell_message> on_the_way;  // delivered in any order, some of them twice
    uint64_t next = 1;
    uint64_t life = 10;
    for (int step = 0; step < 2000; ++step) {
      g.run_until(g.now + 1ms * static_cast<int64_t>(random.below(3)));
      const auto some = [&] { return request_id{next - std::min<uint64_t>(next - 1, 1 + random.below(20))}; };
      switch (random.below(10)) {
        case 0:
        case 1:
        case 2: g.arrive(next++); break;
        case 3: on_the_way.push_back(drops{{{some(), 1, drop_reason::late}}}); break;
        case 4: on_the_way.push_back(completion{{1}, 1, {g.result_of(some().value)}}); break;
        case 5: on_the_way.push_back(completion{{1}, 1, {{some(), 1, failure::device_error, {}, {}}}}); break;
        case 6: g.tell(client_gone{some()}); break;
        case 7:
          if (g.memory.pulls.empty()) break;
          std::swap(g.memory.pulls[0], g.memory.pulls[random.below(g.memory.pulls.size())]);
          g.end_pull(random.below(5) == 0 ? pull_status::lost : pull_status::ok);
          break;
        case 8:
          if (random.below(20) > 0) break;
          if (random.below(2) == 0) {
            g.tell(node_down{scheduler_node, {life}});
          } else {
            g.tell(reborn{{100 + life}});
          }
          g.tell(node_up{scheduler_node, {++life}});
          break;
        default:
          if (on_the_way.empty()) break;
          auto& message = on_the_way[random.below(on_the_way.size())];
          g.tell(message, worker_of(0));
          if (random.below(4) == 0) break;  // it will come again
          message = on_the_way.back();
          on_the_way.pop_back();
      }
      REQUIRE(g.actor.balanced());
      REQUIRE(g.answers.size() + g.actor.in_flight() == next - 1);
      g.apply_releases();
    }
    for (const auto& message : on_the_way) g.tell(message, worker_of(0));
    while (!g.memory.pulls.empty()) g.end_pull();
    g.run_until(g.now + 1s);
    g.out.take<submit>();
    CHECK(g.answers.size() == next - 1);
    g.check_clean();
  }
}

TEST_CASE("gateway: a tenant over its rate is refused at once and told when to come again") {
  auto o = gateway_stage::options(100);
  o.tenants = {"narrow"};
  o.quotas = {{10, 2, 0}};
  gateway_stage g(o);
  const auto ask = [&](uint64_t id, uint32_t tenant) {
    auto c = g.ask(id);
    c.asked.tenant = tenant;
    g.tell(c);
  };
  for (uint64_t id = 1; id <= 3; ++id) ask(id, 1);
  ask(4, 0);
  CHECK(g.open(1));
  CHECK(g.open(2));
  CHECK(g.fate(3).reason == drop_reason::quota);
  CHECK(g.fate(3).retry_after == 100ms);
  CHECK(g.open(4));
  size_t submitted = 0;
  for (const auto& [to, s] : g.out.take_addressed<submit>()) submitted += s.requests.size();
  CHECK(submitted == 3);
  for (uint64_t id : {1, 2, 4}) g.drop(id, drop_reason::late);
  g.check_clean();
}

TEST_CASE("gateway: a tenant's place in flight is free again once its request has a fate, whichever") {
  auto o = gateway_stage::options(100);
  o.tenants = {"narrow"};
  o.quotas = {{0, 1, 1}};
  gateway_stage g(o);
  const auto ask = [&](uint64_t id) {
    auto c = g.ask(id);
    c.asked.tenant = 1;
    g.tell(c);
  };
  ask(1);
  ask(2);
  CHECK(g.fate(2).reason == drop_reason::quota);
  g.drop(1, drop_reason::late);
  ask(3);
  CHECK(g.open(3));
  g.fail(3, failure::device_error);
  ask(4);
  g.complete(4);
  g.end_pull();
  ask(5);
  g.drop(5, drop_reason::shed);
  ask(6);
  CHECK(g.open(6));
  g.drop(6, drop_reason::shed);
  g.check_clean();
}

TEST_CASE("gateway: whoever hangs up or is late keeps its place until nobody works for it any more") {
  auto o = gateway_stage::options(2);
  o.tenants = {"narrow"};
  o.quotas = {{0, 1, 1}};
  gateway_stage g(o);
  const auto ask = [&](uint64_t id, uint32_t tenant = 1) {
    auto c = g.ask(id);
    c.asked.tenant = tenant;
    g.tell(c);
  };
  const auto refused = [&](uint64_t id, drop_reason why) {
    ask(id);
    CHECK(g.fate(id).reason == why);
  };
  ask(1);
  g.tell(client_gone{request_id{1}});
  CHECK(g.fate(1).reason == drop_reason::cancelled);
  refused(2, drop_reason::quota);
  CHECK(g.figure("troupe_requests_in_flight") == 0);
  CHECK(g.figure("troupe_requests_outlived") == 1);
  g.drop(1, drop_reason::cancelled);

  ask(3);
  g.complete(3);
  g.tell(client_gone{request_id{3}});  // while its output is on its way
  refused(4, drop_reason::quota);
  g.end_pull();

  ask(5);
  ask(6, 0);
  g.tell(client_gone{request_id{5}});
  g.tell(client_gone{request_id{6}});
  refused(7, drop_reason::queue_full);  // others do not get beyond the bound of all either
  g.complete(5);
  g.complete(6);

  ask(8);
  g.run_until(g.now + 70ms);
  CHECK(g.fate(8).error == failure::timeout);
  refused(9, drop_reason::quota);
  g.run_until(g.now + 50ms);  // nobody said anything: now its input may be used again
  ask(10);
  CHECK(g.open(10));
  g.tell(node_down{scheduler_node, {10}});
  g.tell(node_up{scheduler_node, {20}});
  ask(11);
  CHECK(g.open(11));
  g.drop(11, drop_reason::shed);
  g.check_clean();
}

TEST_CASE("gateway: a retiring model takes nothing new, and is idle once the last request is answered") {
  gateway_stage g;
  g.arrive(1);
  g.arrive(2);
  g.tell(model_change{{4, model_id{0}, deployment_state::retiring, {}}});
  CHECK(g.out.take<model_idle>().empty());
  g.arrive(3);
  CHECK(g.fate(3).reason == drop_reason::undeployed);
  g.fail(1, failure::device_error);
  CHECK(g.out.take<model_idle>().empty());
  g.fail(2, failure::device_error);
  const auto idle = g.out.one<model_idle>();
  CHECK(idle.revision == 4);
  CHECK(g.actor.balanced());
  g.tell(model_change{{5, model_id{0}, deployment_state::deployed, {}}});
  g.arrive(4);
  CHECK(g.answers.count(request_id{4}) == 0);
}

TEST_CASE("gateway: a model that is deployed later is served and counted like the others") {
  gateway_stage g;
  model_spec late;
  late.name = "late";
  g.tell(model_change{{1, model_id{3}, deployment_state::deployed, late}});
  auto c = g.ask(1);
  c.asked.model = model_id{3};
  g.tell(c);
  const auto sent = g.out.take_addressed<submit>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first.index == 3);
  g.fail(1, failure::device_error);
  std::vector<metric> all;
  g.actor.report(all);
  CHECK(std::ranges::any_of(all, [](const metric& m) {
    return m.name == "troupe_requests_failed_total" && m.value == 1 &&
           m.labels[0] == std::pair<std::string, std::string>{"model", "late"};
  }));
}
