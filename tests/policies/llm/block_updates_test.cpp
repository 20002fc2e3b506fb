#include "policies/llm/block_updates.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::llm;

namespace {

struct block_teller {
  std::vector<cached_blocks> take() {
    return updates.take(llm_id{1}, engine_id{2}, now, [this] { return all; });
  }
  block_updates updates{100ms};
  std::vector<uint64_t> all;
  time_point now{1s};
};

}  // namespace

TEST_CASE("block updates: all blocks at first, then changes, once an interval") {
  block_teller t;
  t.all = {1, 2};
  CHECK(t.take() == std::vector<cached_blocks>{{llm_id{1}, engine_id{2}, 1, true, {1, 2}, {}}});
  CHECK(t.updates.due_at() == never);
  const block_change first[] = {{5, true}, {1, false}, {6, true}};
  t.updates.add(first);
  CHECK(t.updates.due_at() == t.now + 100ms);
  CHECK(t.take().empty());
  const block_change then[] = {{6, false}};
  t.updates.add(then);
  t.now += 100ms;
  CHECK(t.take() == std::vector<cached_blocks>{{llm_id{1}, engine_id{2}, 2, false, {5}, {1, 6}}});
  t.now += 100ms;
  CHECK(t.take().empty());
}

TEST_CASE("block updates: a message has a bounded number of blocks") {
  block_teller t;
  for (uint64_t b = 0; b < 2 * block_updates::max_blocks + 1; ++b) t.all.push_back(b);
  auto all = t.take();
  REQUIRE(all.size() == 3);
  CHECK(all[0].all);
  CHECK_FALSE(all[1].all);
  CHECK(all[2].number == 3);
  CHECK(all[2].present == std::vector<uint64_t>{2 * block_updates::max_blocks});
  for (const auto b : t.all) {
    const block_change gone[] = {{b, false}};
    t.updates.add(gone);
  }
  t.now += 1s;
  all = t.take();
  REQUIRE(all.size() == 3);
  CHECK(all[2].number == 6);
  CHECK(all[2].gone.size() == 1);
}

TEST_CASE("block updates: who asks for all blocks gets them, and no change twice") {
  block_teller t;
  t.take();
  const block_change change[] = {{5, true}};
  t.updates.add(change);
  t.updates.tell_all();
  t.all = {5};
  t.now += 1s;
  CHECK(t.take() == std::vector<cached_blocks>{{llm_id{1}, engine_id{2}, 2, true, {5}, {}}});
  t.now += 1s;
  CHECK(t.take().empty());
}
