// The part of an engine in a hand-over of keys and values: as the former engine of a request, and as the
// next.
#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address the_other_engine{other_node, {13}, role::llm_engine, 1};

struct handover_stage : engine_stage {
  explicit handover_stage(const llm_engine::options& o = options()) : engine_stage(o) {
    deliver(node_up{gateway_node, {11}});
    device.kv.bytes = cache;
    device.kv.offset = 1 << 20;
    load();
    out.forget();
  }
  handed_over take_answer() {
    const auto all = out.take<handed_over>();
    REQUIRE(all.size() == 1);
    return all[0];
  }
  std::vector<std::byte> cache = std::vector<std::byte>(64 * scripted_engine_device::block_bytes);
};

kv_offer offered_blocks(uint32_t positions, std::vector<uint32_t> blocks) {
  kv_offer o;
  o.lease = {other_node, {13}, memory_kind::host, 64, 0, 5};
  o.engine = engine_id{1};
  o.block_bytes = scripted_engine_device::block_bytes;
  o.block_tokens = 4;
  o.parts = {{0, positions, std::move(blocks)}};
  return o;
}

generation continued() {
  auto g = engine_stage::request(1, {}, 5);
  g.attempt = 2;
  g.prompt = {5, 6, 7, 8};
  g.progress = {{0, {9, 10}}};
  g.kv = offered_blocks(5, {7, 3});
  return g;
}

}  // namespace

TEST_CASE("llm engine: a request is handed over after the step under way, with its last token before") {
  handover_stage e;
  e.ask(e.request(1));
  REQUIRE(e.device.running);
  e.deliver(hand_over{request_id{1}, 1}, the_llm_gateway);
  CHECK(e.out.take<handed_over>().empty());
  e.step();
  CHECK(e.tokens().size() == 1);
  const auto answer = e.take_answer();
  CHECK(answer.id == request_id{1});
  CHECK(answer.attempt == 1);
  REQUIRE(answer.kv.lease);
  CHECK(answer.kv.first_block == 1 << 20);
  REQUIRE(answer.kv.parts.size() == 1);
  CHECK(answer.kv.parts[0].positions == 2);
  CHECK(answer.kv.parts[0].blocks.size() == 1);
  CHECK_FALSE(e.device.running);
  CHECK(e.state().running == 0);
  CHECK(e.state().kv_blocks_free == 63);
  CHECK(e.actor.unfinished() == 1);  // its node stays
  e.deliver(release_kv{engine_id{0}, answer.kv.lease}, the_other_engine);
  CHECK(e.state().kv_blocks_free == 64);
  CHECK(e.actor.unfinished() == 0);
  CHECK(e.memory.in_use() == 0);
}

TEST_CASE(
    "llm engine: a lease ends by time, by its request's end, with the step that failed, and with the node") {
  for (const int how : {0, 1, 2, 3}) {
    handover_stage e;
    e.ask(e.request(1));
    e.step();
    e.deliver(hand_over{request_id{1}, 1}, the_llm_gateway);
    if (e.device.running) e.step();
    CHECK(e.take_answer().kv.lease);
    CHECK(e.memory.in_use() == 1);
    if (how == 0) {
      CHECK(e.actor.next_wakeup() <= e.now + kv_leases::limit);
      e.now += kv_leases::limit;
      e.deliver(device_ready{});
    } else if (how == 1) {
      e.deliver(cancel{request_id{1}}, the_llm_gateway);
    } else if (how == 2) {
      e.ask(e.request(2));
      e.device.fail_step("burnt");
      e.wake();
    } else {
      e.deliver(new_incarnation{{20}});
    }
    CHECK(e.memory.in_use() == 0);
    CHECK(e.state().kv_blocks_free == 64);
  }
}

TEST_CASE("llm engine: a request that it does not have, or that waits, is handed over without an offer") {
  handover_stage e;
  e.deliver(hand_over{request_id{1}, 3}, the_llm_gateway);
  auto answer = e.take_answer();
  CHECK(answer.attempt == 3);
  CHECK_FALSE(answer.kv.lease);
  e.ask(e.request(2, "a"));  // its adapter is not loaded
  e.deliver(hand_over{request_id{2}, 1}, the_llm_gateway);
  answer = e.take_answer();
  CHECK(answer.id == request_id{2});
  CHECK_FALSE(answer.kv.lease);
  CHECK(e.state().waiting == 0);
}

TEST_CASE(
    "llm engine: a request that it only prefills leaves by itself after the first token of each choice") {
  for (const bool ends : {false, true}) {
    handover_stage e;
    auto g = e.request(1);
    g.prefill_only = true;
    g.choices = 2;
    e.ask(g);
    if (ends) e.deliver(end_choice{request_id{1}, 1}, the_llm_gateway);
    e.step();
    CHECK(e.tokens().size() == (ends ? 1 : 2));
    const auto answer = e.take_answer();
    CHECK(answer.attempt == 1);
    REQUIRE(answer.kv.lease);
    REQUIRE(answer.kv.parts.size() == (ends ? 1 : 2));
    CHECK(answer.kv.parts[0].positions == 2);
    CHECK_FALSE(e.device.running);
    CHECK(e.state().running == 0);
  }
}

TEST_CASE("llm engine: a choice that is prefilled leaves when the last other one is given up") {
  auto o = engine_stage::options();
  o.prefill_chunk = 3;  // the second choice needs a second step
  handover_stage e(o);
  auto g = e.request(1);
  g.prefill_only = true;
  g.choices = 2;
  e.ask(g);
  e.step();
  CHECK(e.tokens().size() == 1);
  CHECK(e.out.take<handed_over>().empty());
  e.deliver(end_choice{request_id{1}, 1}, the_llm_gateway);
  CHECK(e.take_answer().kv.parts.size() == 1);
}

TEST_CASE("llm engine: it pulls what is offered, and continues with the next token") {
  handover_stage e;
  e.ask(continued());
  CHECK_FALSE(e.device.running);
  REQUIRE(e.memory.leased_pulls.size() == 1);
  const auto p = e.memory.leased_pulls[0];
  CHECK(p.lease.generation == 5);
  REQUIRE(p.ranges.size() == 2);
  CHECK(p.ranges[0].offset == 7 * scripted_engine_device::block_bytes);
  CHECK(e.out.take<release_kv>().empty());
  e.deliver(pulled{p.token, pull_status::ok});
  const auto release = e.out.one<release_kv>();
  CHECK(release.engine == engine_id{1});
  CHECK(release.lease == p.lease);
  CHECK(e.device.written.size() == 2);
  REQUIRE(e.device.running);
  CHECK(e.device.running->rows() == 1);
  CHECK(e.device.running->positions == std::vector<uint32_t>{5});
}

TEST_CASE("llm engine: it computes what could not be pulled") {
  for (const auto how : {pull_status::stale, pull_status::lost}) {
    handover_stage e;
    e.ask(continued());
    e.deliver(pulled{e.memory.leased_pulls[0].token, how});
    CHECK(e.out.one<release_kv>().engine == engine_id{1});
    REQUIRE(e.device.running);
    CHECK(e.device.running->rows() == 6);
  }
}

TEST_CASE("llm engine: an offer that it cannot use is refused at once") {
  handover_stage e;
  auto g = continued();
  g.kv.block_tokens = 8;
  e.ask(g);
  CHECK(e.out.one<release_kv>().lease == g.kv.lease);
  REQUIRE(e.device.running);
  CHECK(e.device.running->rows() == 6);
  auto unknown = continued();
  unknown.id = request_id{2};
  unknown.adapter = "x";
  e.ask(unknown);
  CHECK(e.out.one<release_kv>().lease == g.kv.lease);
}

TEST_CASE("llm engine: a request that has not begun goes on with the offer that it came with") {
  auto o = engine_stage::options();
  o.max_sequences = 1;
  handover_stage e(o);
  e.ask(e.request(9));
  e.ask(continued());
  CHECK(e.memory.leased_pulls.empty());
  e.deliver(hand_over{request_id{1}, 2}, the_llm_gateway);
  if (e.device.running) e.step();
  CHECK(e.take_answer().kv == continued().kv);
  CHECK(e.out.take<release_kv>().empty());
  CHECK(e.memory.in_use() == 0);
}

TEST_CASE(
    "llm engine: without a prefix cache, a request that comes back copies its blocks, if there is room") {
  for (const bool room : {true, false}) {
    auto o = engine_stage::options();
    o.prefix_cache = false;
    handover_stage e(o);
    auto back = e.request(1);
    if (!room) back.prompt.resize(99 - back.max_tokens, 7);
    e.ask(back);
    e.step();
    e.deliver(hand_over{request_id{1}, 1}, the_llm_gateway);
    if (e.device.running) e.step();
    back.attempt = 2;
    back.kv = e.take_answer().kv;
    back.progress = {{0, {}}};
    for (const auto& t : e.tokens()) back.progress[0].tokens.push_back(t.which);
    if (!room) {
      auto other = back;
      for (other.id = request_id{2}; e.state().kv_blocks_free >= 24; ++other.id.value) {
        other.kv = {};
        e.ask(other);
      }
    }
    e.out.forget();
    e.ask(back);
    REQUIRE(e.memory.leased_pulls.size() == (room ? 1 : 0));
    CHECK(e.memory.in_use() == (room ? 1 : 0));
    if (!room) continue;
    e.deliver(pulled{e.memory.leased_pulls[0].token, pull_status::ok});
    REQUIRE(e.device.running);
    CHECK(e.device.running->rows() == 1);
    e.deliver(e.out.one<release_kv>(), the_engine);
    CHECK(e.memory.in_use() == 0);
  }
}

TEST_CASE("llm engine: a request that comes back finds its blocks in the prefix cache") {
  handover_stage e;
  e.ask(e.request(1));
  e.step();
  e.deliver(hand_over{request_id{1}, 1}, the_llm_gateway);
  if (e.device.running) e.step();
  auto back = e.request(1);
  back.attempt = 2;
  back.kv = e.take_answer().kv;
  for (const auto& t : e.tokens()) back.progress = {{0, {t.which}}};
  e.ask(back);
  CHECK(e.memory.leased_pulls.empty());
  CHECK(e.memory.in_use() == 0);
  CHECK(e.device.running);
}

TEST_CASE("llm engine: a request that ends during its pull keeps its blocks until the pull has ended") {
  handover_stage e;
  e.ask(continued());
  e.deliver(cancel{request_id{1}}, the_llm_gateway);
  CHECK(e.state().kv_blocks_free == 62);
  CHECK(e.out.take<release_kv>().empty());
  e.deliver(pulled{e.memory.leased_pulls[0].token, pull_status::ok});
  CHECK(e.state().kv_blocks_free == 64);
  CHECK(e.out.one<release_kv>().engine == engine_id{1});
}
