// The request router with the routing policy `prefix`.
#include "tests/policies/llm/request_router_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using block_list = std::vector<uint64_t>;

struct prefix_stage : router_stage {
  explicit prefix_stage(uint32_t engines) : router_stage(engines, "prefix") {}

  bool tell(uint32_t engine, uint64_t number, bool all, block_list present, block_list gone = {}) {
    return router.on_cached({{}, {engine}, number, all, std::move(present), std::move(gone)}, now);
  }
  void ask(uint64_t id, block_list prefix, uint64_t tokens = 200) {
    auto r = request(id);
    r.prefix = std::move(prefix);
    r.tokens = tokens;
    add(r);
  }
  void say_roomy(uint32_t engine, uint64_t uncomputed = 0) {
    auto s = router.engines().at({engine}).said;
    s.engine = {engine};
    s.kv_tokens = 100'000;
    s.max_sequences = 100;
    s.block_tokens = 10;
    s.uncomputed_tokens = uncomputed;
    router.on_status(s, now);
  }
};

}  // namespace

TEST_CASE("prefix routing: a request joins the longest prefix, and without one the fullest engine") {
  prefix_stage s(3);
  for (uint32_t e = 0; e < 3; ++e) {
    s.say_roomy(e);
    CHECK(s.tell(e, 1, true, {}));
  }
  CHECK(s.tell(0, 2, false, {1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(s.tell(1, 2, false, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  CHECK(s.router.cached_blocks() == 16);
  s.now += 1ms;  // after the status
  s.ask(1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}, 300);
  CHECK(s.decide() == "1>1");
  s.ask(2, {91, 92});
  CHECK(s.decide() == "2>2");  // engine 1 computes more before it
}

TEST_CASE("prefix routing: the queue of an engine may cost more than its cache saves") {
  prefix_stage s(2);
  s.say_roomy(0, 300);
  s.say_roomy(1);
  s.tell(0, 1, true, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  s.tell(1, 1, true, {});
  s.ask(1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(s.decide() == "1>1");  // 300 + 100 tokens, or 200
  s.say_roomy(0, 0);
  s.now += 1s;
  s.say_roomy(1, 0);
  s.ask(2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(s.decide() == "2>0");
}

TEST_CASE(
    "prefix routing: after a missed message the engine is asked for all blocks, and its old ones are "
    "forgotten") {
  prefix_stage s(2);
  CHECK(s.tell(0, 1, true, {1, 2}));
  CHECK(s.tell(1, 7, true, {1}));
  CHECK_FALSE(s.tell(0, 3, false, {4}));
  CHECK(s.router.cached_blocks() == 1);
  CHECK(s.tell(0, 4, false, {5}));  // it was asked just now
  CHECK(s.router.cached_blocks() == 1);
  s.now += 1s;
  CHECK_FALSE(s.tell(0, 5, false, {6}));
  CHECK(s.tell(0, 6, true, {1, 2, 4, 5, 6}));
  CHECK(s.router.cached_blocks() == 5);
  CHECK(s.tell(0, 7, false, {}, {6, 5}));
  CHECK(s.router.cached_blocks() == 3);
  s.router.lose_engine({0});
  CHECK(s.router.cached_blocks() == 1);
  CHECK_FALSE(s.tell(0, 1, false, {8}));  // of its next incarnation
  s.router.clear();
  CHECK(s.router.cached_blocks() == 0);
}

TEST_CASE("prefix routing: other policies keep no blocks") {
  router_stage s(2, "affinity");
  CHECK(s.router.on_cached({{}, {0}, 5, false, {1}, {}}, s.now));
  CHECK(s.router.cached_blocks() == 0);
}
