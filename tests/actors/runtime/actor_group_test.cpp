#include "actors/runtime/actor_group.hpp"

#include <algorithm>

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Keeps the messages that leave the group.
class recording_sink final : public message_sink {
 public:
  void carry(std::span<envelope> messages) override {
    ++times;
    for (auto& e : messages) left.push_back(std::move(e));
  }
  std::vector<envelope> left;
  int times = 0;
};

/// Writes a diary; passes every `cancel` on to `next` with an id lower by one, until 0.
class relay final : public actor {
 public:
  relay(address self, outbox& out, address next, std::vector<std::string>& diary)
      : actor(self, out), next_(next), diary_(diary) {}
  void on(envelope& e, time_point) override {
    dispatch(
        e.body,
        overloaded{[&](cancel& c) {
                     diary_.push_back(std::to_string(self_.index) + " hears " + std::to_string(c.id.value));
                     if (c.id.value > 0) send(next_, cancel{request_id{c.id.value - 1}});
                   },
                   [&](node_down&) { diary_.push_back(std::to_string(self_.index) + " mourns"); }});
  }
  void on_time(time_point now) override {
    diary_.push_back(std::to_string(self_.index) + " decides");
    if (wake_at_ <= now) wake_at_ = never;
  }
  time_point next_wakeup() const override { return wake_at_; }
  void end(time_point) override {
    send(next_, cancel{request_id{0}});
    send(address{node_id{3}, {}, role::model_queue, 0}, cancel{request_id{0}});
  }
  void report(std::vector<metric>&) const override {}

  time_point wake_at_ = never;

 private:
  address next_;
  std::vector<std::string>& diary_;
};

address relay_at(uint32_t index, node_id node = scheduler_node, uint64_t incarnation = 10) {
  return {node, {incarnation}, role::model_queue, index};
}

struct two_relays {
  explicit two_relays(address beyond = relay_at(0)) {
    first = &group.add<relay>(relay_at(0), relay_at(1), diary);
    second = &group.add<relay>(relay_at(1), beyond, diary);
  }
  void turn(std::vector<envelope> messages, time_point now = at(0)) { group.turn(messages, now); }
  recording_sink bag;
  actor_group group{bag};
  std::vector<std::string> diary;
  relay *first, *second;
};

envelope to(address a, actor_message m) { return {{}, a, std::move(m)}; }

}  // namespace

TEST_CASE("actor_group: messages between its actors never leave it, and a turn ends when none is left") {
  two_relays g;
  g.turn({to(relay_at(0), cancel{{3}})});
  CHECK(g.bag.times == 0);
  CHECK(std::count(g.diary.begin(), g.diary.end(), "1 hears 0") == 1);
}

TEST_CASE("actor_group: actors decide after all messages of the turn, including those between them") {
  two_relays g;
  g.turn({to(relay_at(0), cancel{{1}}), to(relay_at(0), cancel{{0}})});
  CHECK(g.diary == std::vector<std::string>{"0 hears 1", "0 hears 0", "1 hears 0", "0 decides", "1 decides"});
}

TEST_CASE("actor_group: messages to others leave once per turn, in order") {
  two_relays g(relay_at(7, node_id{3}));
  g.turn({to(relay_at(1), cancel{{5}}), to(relay_at(1), cancel{{9}})});
  CHECK(g.bag.times == 1);
  REQUIRE(g.bag.left.size() == 2);
  CHECK(std::get<cancel>(g.bag.left[0].body).id.value == 4);
  CHECK(std::get<cancel>(g.bag.left[1].body).id.value == 8);
  CHECK(g.bag.left[0].from == relay_at(1));
  g.turn({});
  CHECK(g.bag.times == 1);
}

TEST_CASE("actor_group: it wakes for the earliest of its actors, which decides once") {
  two_relays g;
  g.first->wake_at_ = at(5);
  g.second->wake_at_ = at(3);
  g.turn({to(relay_at(0), cancel{{0}}), to(relay_at(1), cancel{{0}})});
  CHECK(g.group.next_wakeup() == at(3));
  g.diary.clear();
  g.turn({}, at(2.9));
  CHECK(g.diary.empty());
  g.turn({}, at(3));
  CHECK(g.diary == std::vector<std::string>{"1 decides"});
  CHECK(g.group.next_wakeup() == at(5));
  g.turn({}, at(9));
  CHECK(g.group.next_wakeup() == never);
}

TEST_CASE("actor_group: events of the node reach every actor") {
  two_relays g;
  g.turn({to({}, node_down{worker_node, {1}})});
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 mourns") == 1);
  CHECK(std::count(g.diary.begin(), g.diary.end(), "1 mourns") == 1);
}

TEST_CASE("actor_group: messages of an ended incarnation are dropped") {
  two_relays g(relay_at(7, node_id{3}));
  const auto whichever = relay_at(0, scheduler_node, 0);
  const auto says = [&](uint64_t incarnation, uint64_t what) {
    return envelope{{worker_node, {incarnation}, role::gpu_worker, 0}, whichever, cancel{request_id{what}}};
  };
  g.turn({says(5, 0), to({}, node_down{worker_node, {5}}), says(5, 1), says(4, 2), says(6, 3)});
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 hears 0") == 1);
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 hears 1") == 0);
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 hears 2") == 0);
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 hears 3") == 1);
  g.turn({to({}, node_down{worker_node, {4}}), says(6, 3)});  // reported late
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 hears 3") == 2);
  g.turn({to({}, new_incarnation{{11}}), says(5, 1)});  // the others had taken this node for dead
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 hears 1") == 1);
}

TEST_CASE("actor_group: a message to an earlier incarnation is dropped, one to any incarnation is not") {
  two_relays g;
  g.turn({to({}, new_incarnation{{11}})});
  g.diary.clear();
  g.turn({to(relay_at(0, scheduler_node, 10), cancel{{0}})});
  CHECK(g.diary.empty());
  g.turn({to(relay_at(0, scheduler_node, 11), cancel{{0}}), to(relay_at(0, scheduler_node, 0), cancel{{0}})});
  CHECK(std::count(g.diary.begin(), g.diary.end(), "0 hears 0") == 2);
}

TEST_CASE("actor_group: a message without a receiver is ignored") {
  two_relays g;
  g.turn({to(relay_at(9), cancel{{0}}), to({scheduler_node, {10}, role::gpu_worker, 0}, cancel{{0}})});
  CHECK(g.diary.empty());
}

TEST_CASE("actor_group: it lists its actors") {
  two_relays g;
  CHECK(g.group.names().size() == 2);
  CHECK(g.group.has(role::model_queue, 1));
  CHECK_FALSE(g.group.has(role::model_queue, 2));
  CHECK(g.group.names() == std::vector<address>{relay_at(0), relay_at(1)});
}

TEST_CASE("actor_group: a removed actor gets no messages, and its place is reused") {
  recording_sink bag;
  actor_group group(bag);
  std::vector<std::string> diary;
  const auto named = [](uint32_t i) { return address{node_id{0}, {1}, role::model_queue, i}; };
  group.add<relay>(named(0), named(1), diary);
  group.add<relay>(named(1), named(0), diary);
  group.remove(role::model_queue, 0, at(0));
  CHECK(group.names().size() == 1);
  CHECK_FALSE(group.has(role::model_queue, 0));
  CHECK(diary == std::vector<std::string>{"1 hears 0", "1 decides"});  // sent at its end
  CHECK(bag.left.size() == 1);
  diary.clear();
  message_batch p;
  p.push_back({{}, named(0), node_down{}});
  p.push_back({{}, named(0), cancel{request_id{1}}});
  group.turn(p, at(0));
  CHECK(diary == std::vector<std::string>{"1 mourns", "1 decides"});
  diary.clear();
  group.add<relay>(named(7), named(1), diary);
  message_batch q;
  q.push_back({{}, named(7), cancel{request_id{0}}});
  group.turn(q, at(1));
  CHECK(diary == std::vector<std::string>{"7 hears 0", "7 decides"});
}

namespace {

/// Has a batch under way.
class busy_queue final : public actor {
 public:
  using actor::actor;
  void on(envelope& e, time_point) override {
    batches_done_ += std::holds_alternative<batch_done>(e.body);
    if (std::holds_alternative<batch_done>(e.body) || std::holds_alternative<node_down>(e.body)) batches_ = 0;
  }
  void on_time(time_point) override {
    if (batches_done_ > 0) send(the_gateway, drops{});
  }
  time_point next_wakeup() const override { return at(1); }
  void report(std::vector<metric>& out) const override { out.push_back({"batches", {}, 0}); }
  size_t unfinished() const override { return batches_; }

 private:
  size_t batches_ = 1, batches_done_ = 0;
};

}  // namespace

TEST_CASE("actor_group: a removed actor still gets the ends of its batches") {
  recording_sink bag;
  actor_group group(bag);
  const address queue = relay_at(3);
  const auto turn = [&](actor_message m) {
    message_batch p;
    p.push_back({the_gateway, queue, std::move(m)});
    group.turn(p, at(0));
  };
  group.add<busy_queue>(queue);
  group.remove(role::model_queue, 3, at(0));
  CHECK(group.unfinished() == 1);
  CHECK(group.names().size() == 0);
  CHECK(group.statuses({}).empty());
  CHECK(group.next_wakeup() == never);
  std::vector<metric> reported;
  group.report(reported);
  CHECK(reported.empty());

  request r;
  turn(submit{{r}});
  CHECK(std::get<drops>(bag.left.at(0).body).requests.size() == 1);
  std::vector<std::string> diary;
  group.add<relay>(queue, relay_at(4), diary);  // the next one in its place
  turn(batch_done{});
  CHECK(bag.left.size() == 2);
  CHECK(diary.empty());
  CHECK(group.unfinished() == 0);
  turn(batch_done{});
  CHECK(bag.left.size() == 2);

  auto& unaware = group.add<busy_queue>(relay_at(5));
  turn(new_incarnation{{77}});
  CHECK(unaware.self().incarnation == incarnation_id{77});
  group.remove(role::model_queue, 5, at(0));
  turn(node_down{});
  CHECK(group.unfinished() == 0);
}

TEST_CASE("actor_group: requests for a missing queue are dropped") {
  recording_sink bag;
  actor_group group(bag);
  const address queue{node_id{0}, {}, role::model_queue, 3};
  request r;
  r.id = request_id{9};
  r.attempt = 2;
  message_batch p;
  p.push_back({the_gateway, queue, submit{{r}}});
  group.turn(p, at(0));
  REQUIRE(bag.left.size() == 1);
  CHECK(bag.left[0].to == the_gateway);
  const auto& no = std::get<drops>(bag.left[0].body);
  REQUIRE(no.requests.size() == 1);
  CHECK(no.requests[0].id == request_id{9});
  CHECK(no.requests[0].attempt == 2);
  CHECK(no.requests[0].reason == drop_reason::no_capacity);
}

TEST_CASE("actor_group: a command of another actor is answered like one of a tool") {
  recording_sink bag;
  actor_group group(bag);
  std::vector<std::string> diary;
  group.add<relay>(relay_at(0), relay_at(1), diary);
  const address asker{worker_node, {4}, role::extension, 0};
  message_batch asked;
  asked.push_back({asker, relay_at(0), command{17, "get_state", ""}});
  group.turn(asked, time_point{});
  REQUIRE(bag.left.size() == 1);
  CHECK(bag.left[0].to == asker);
  CHECK(bag.left[0].from == relay_at(0));
  const auto& reply = std::get<command_reply>(bag.left[0].body);
  CHECK(reply.token == 17);
  CHECK_FALSE(reply.ok);
  CHECK(reply.body == "takes no commands");
}
