#include "policies/batching/decision_log.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

decision_log::known_request asked(uint64_t id) { return {request_id{id}, ms(0), ms(10), ms(1), 1, 0, 1}; }

decision_log::granted_batch batch(uint64_t id, int granted_at = 0) {
  decision_log::granted_batch b{};
  b.id = batch_id{id};
  b.at = ms(granted_at);
  return b;
}

std::vector<uint32_t> rows_of(const std::vector<decision_log::offer>& offers) {
  std::vector<uint32_t> out;
  for (const auto& o : offers) out.push_back(o.window.rows);
  return out;
}

}  // namespace

TEST_CASE("a decision log finds every grant of a request, and none of the handle's earlier requests") {
  decision_log log(8);
  log.begin(batch(4, 1));
  log.grant(1, 3, batch_id{4});
  log.begin(batch(5, 2));
  log.grant(1, 1, batch_id{5});
  log.grant(2, 1, batch_id{5});
  log.begin(batch(6, 3));
  log.grant(1, 2, batch_id{6});
  const auto grants = log.grants_of(1, ms(2));
  REQUIRE(grants.size() == 2);
  CHECK(grants[0].batch == batch_id{5});
  CHECK(grants[1].batch == batch_id{6});
  CHECK(grants[1].attempt == 2);
}

TEST_CASE("a decision log finds a drop with the numbers") {
  decision_log log(8);
  CHECK_FALSE(log.drop_of(request_id{3}));
  log.drop(asked(3), ms(4), drop_reason::shed, {drop_rule::batching, 11, ms(5), ms(12)});
  const auto drop = log.drop_of(request_id{3});
  REQUIRE(drop);
  CHECK(drop->reason == drop_reason::shed);
  CHECK(drop->grounds.rows == 11);
  CHECK(drop->grounds.end == ms(12));
}

TEST_CASE("a decision log drops its oldest entries, and grants do not displace drops") {
  decision_log log(4);
  log.drop(asked(100), ms(0), drop_reason::late, {});
  for (uint32_t id = 1; id <= 20; ++id) {
    log.begin(batch(id));
    log.grant(id, 1, batch_id{id});
  }
  CHECK(log.grants_of(16, ms(0)).empty());
  CHECK(log.grants_of(17, ms(0)).size() == 1);
  CHECK(log.drop_of(request_id{100}));
  CHECK(log.batch(batch_id{16}) == nullptr);
  REQUIRE(log.batch(batch_id{17}) != nullptr);
  CHECK(log.batch(batch_id{21}) == nullptr);
}

TEST_CASE("a decision log finds batches on both sides of a gap, and none in it") {
  decision_log log(3);
  for (const uint64_t id : {1, 2, 7, 9}) log.begin(batch(id));
  for (const uint64_t id : {2, 7, 9}) {
    REQUIRE(log.batch(batch_id{id}) != nullptr);
    CHECK(log.batch(batch_id{id})->id == batch_id{id});
  }
  for (const uint64_t id : {1, 3, 6, 8, 10}) CHECK(log.batch(batch_id{id}) == nullptr);
}

TEST_CASE("a decision log notes how a batch ended, also when later ones have begun") {
  decision_log log(4);
  log.begin(batch(1));
  log.begin(batch(2));
  log.end(batch_id{1}, decision_log::batch_status::refused, refusal::busy, never, ms(5));
  log.end(batch_id{9}, decision_log::batch_status::done, refusal::none, ms(1), ms(2));  // unknown
  CHECK(log.batch(batch_id{1})->how == decision_log::batch_status::refused);
  CHECK(log.batch(batch_id{1})->why == refusal::busy);
  CHECK(log.batch(batch_id{1})->finished_at == ms(5));
  CHECK(log.batch(batch_id{2})->how == decision_log::batch_status::running);
}

TEST_CASE("a decision log takes a batch from its grant, its order and its end") {
  decision_log log(4);
  grant g;
  g.sequence = 9;
  g.slot = slot_id{2};
  g.free_at = ms(3);
  batch_order o;
  o.batch = batch_id{1};
  o.exec_at = ms(4);
  o.start_by = ms(6);
  o.requests.resize(2);
  for (const uint64_t id : {1, 2, 3, 4}) {
    o.batch = batch_id{id};
    log.begin(g, o, 5, ms(14), ms(2));
  }
  const auto* b = log.batch(batch_id{1});
  REQUIRE(b != nullptr);
  CHECK(b->sequence == 9);
  CHECK(b->slot == slot_id{2});
  CHECK(b->at == ms(2));
  CHECK(b->free_at == ms(3));
  CHECK(b->rows == 5);
  CHECK(b->requests == 2);
  CHECK(b->start_by == ms(6));
  CHECK(b->end == ms(14));

  batch_done d{batch_id{1}, {}, slot_id{2}, refusal::none, 5, ms(4), ms(13), {}};
  log.end(d, ms(15));
  CHECK(b->how == decision_log::batch_status::done);
  CHECK(b->finished_at == ms(13));
  d.batch = batch_id{2};
  d.refused = refusal::preempted;
  log.end(d, ms(15));
  CHECK(log.batch(batch_id{2})->how == decision_log::batch_status::preempted);
  CHECK(log.batch(batch_id{2})->finished_at == ms(13));
  d.batch = batch_id{3};
  d.refused = refusal::busy;
  log.end(d, ms(15));
  CHECK(log.batch(batch_id{3})->why == refusal::busy);
  CHECK(log.batch(batch_id{3})->finished_at == ms(15));
  log.lose(batch_id{4}, true, ms(16));
  CHECK(log.batch(batch_id{4})->how == decision_log::batch_status::worker_crashed);
}

TEST_CASE("offers of a time are those made in it and the one that stood before") {
  decision_log log(4);
  for (uint32_t i = 1; i <= 3; ++i) log.offered(ms(10 * static_cast<int>(i)), i, {i, ms(50), ms(60)});
  CHECK(rows_of(log.offers(ms(15), ms(31))) == std::vector<uint32_t>{1, 2, 3});
  CHECK(rows_of(log.offers(ms(20), ms(30))) == std::vector<uint32_t>{1, 2});
  CHECK(rows_of(log.offers(ms(21), ms(25))) == std::vector<uint32_t>{2});
  CHECK(rows_of(log.offers(ms(35), ms(40))) == std::vector<uint32_t>{3});
  CHECK(log.offers_since() == long_ago);
  log.offered(ms(40), 4, {});
  log.offered(ms(50), 5, {});
  CHECK(log.offers_since() == ms(20));
}

TEST_CASE("a decision log that is off keeps nothing") {
  decision_log log;
  CHECK_FALSE(log.on());
  log.begin(batch(1));
  log.grant(1, 1, batch_id{1});
  log.drop(asked(2), ms(0), drop_reason::late, {});
  CHECK(log.grants_of(1, ms(0)).empty());
  CHECK(log.batch(batch_id{1}) == nullptr);
  CHECK_FALSE(log.drop_of(request_id{2}));
}
