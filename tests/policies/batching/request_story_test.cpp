#include "policies/batching/request_story.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct memory {
  memory() { table.remember(16); }

  uint32_t take(uint64_t id, double at) {
    request_table::entry e;
    e.what.id = request_id{id};
    e.what.rows = 2;
    e.what.arrival = ms(at - 1);
    e.what.deadline = ms(at + 11);
    e.taken_at = ms(at);
    e.rows_ahead = 5;
    return table.add(e);
  }
  void begin(uint32_t handle, uint64_t batch, uint64_t sequence, double at) {
    log.grant(handle, 1, batch_id{batch});
    decision_log::granted_batch b{};
    b.id = batch_id{batch};
    b.sequence = sequence;
    b.at = ms(at);
    log.begin(b);
    in_flight_batch running;
    running.handles = {handle};
    in_flight.add(batch_id{batch}, std::move(running));
  }
  request_story story(uint64_t id, size_t max_candidates = 100) const {
    return explain(request_id{id}, log, table, in_flight, max_candidates);
  }

  decision_log log{16};
  request_table table;
  in_flight_batches in_flight;
};

std::vector<uint64_t> sequences(const request_story& s) {
  std::vector<uint64_t> out;
  for (const auto& c : s.candidates) out.push_back(c.sequence);
  return out;
}

}  // namespace

TEST_CASE("explain: a request that waits, with the candidates since it came") {
  memory m;
  m.log.offered(ms(1), 1, {});
  m.log.offered(ms(2), 2, {});
  m.take(1, 3);
  m.log.offered(ms(4), 3, {});
  const auto s = m.story(1);
  CHECK(s.known);
  CHECK(s.state == "waiting");
  CHECK(s.rows == 2);
  CHECK(s.rows_ahead == 5);
  CHECK(s.arrival == ms(2));
  CHECK(s.taken_at == ms(3));
  CHECK(s.decision_log == 16);
  CHECK(sequences(s) == std::vector<uint64_t>{2, 3});
  CHECK_FALSE(s.candidates_forgotten);
}

TEST_CASE("explain: of many candidates the latest, and the others count as forgotten") {
  memory m;
  m.take(1, 0);
  for (uint64_t i = 1; i <= 5; ++i) m.log.offered(ms(static_cast<double>(i)), i, {});
  const auto s = m.story(1, 2);
  CHECK(sequences(s) == std::vector<uint64_t>{4, 5});
  CHECK(s.candidates_forgotten);
}

TEST_CASE("explain: a request in flight and its end, without the later candidates, which were about others") {
  memory m;
  const auto handle = m.take(1, 0);
  m.log.offered(ms(0), 1, {});
  m.log.offered(ms(2), 2, {});  // crossed the grant
  m.begin(handle, 7, 1, 2);
  m.log.offered(ms(3), 3, {});
  CHECK(m.story(1).state == "running");
  CHECK(sequences(m.story(1)) == std::vector<uint64_t>{1});
  m.in_flight.clear();
  m.table.release(handle);
  batch_done d;
  d.batch = batch_id{7};
  d.started_at = ms(4);
  d.finished_at = ms(9);
  m.log.end(d, ms(10));
  const auto s = m.story(1);
  CHECK(s.state == "finished");
  REQUIRE(s.batches.size() == 1);
  CHECK(s.batches[0].end == "done");
  CHECK(s.batches[0].finished_at == ms(9));
}

TEST_CASE("explain: a batch of a lost worker, and a refused one that is queued again") {
  memory m;
  const auto lost = m.take(1, 0), refused = m.take(2, 0);
  m.begin(lost, 7, 1, 1);
  m.begin(refused, 8, 2, 1);
  m.in_flight.clear();
  m.log.lose(batch_id{7}, false, ms(2));
  m.table.release(lost);
  CHECK(m.story(1).state == "lost");
  CHECK(m.story(1).batches[0].end == "worker_lost");
  batch_done d;
  d.batch = batch_id{8};
  d.refused = refusal::busy;
  m.log.end(d, ms(2));
  CHECK(m.story(2).state == "waiting");
  CHECK(m.story(2).batches[0].end == "refused");
  CHECK(m.story(2).batches[0].why == "busy");
  CHECK(m.story(2).batches[0].finished_at == ms(2));
}

TEST_CASE("explain: a drop, with its rule and its numbers, and the candidates until then") {
  memory m;
  const auto handle = m.take(1, 0);
  m.log.offered(ms(1), 1, {});
  m.log.drop(known_request(m.table.all_of(handle)), ms(2), drop_reason::late,
             {drop_rule::batching, 3, ms(2), ms(20)});
  m.table.release(handle);
  m.log.offered(ms(3), 2, {});
  const auto s = m.story(1);
  CHECK(s.state == "dropped");
  REQUIRE(s.drops.size() == 1);
  CHECK(s.drops[0].reason == "late");
  CHECK(s.drops[0].rule == "batching");
  CHECK(s.drops[0].rows == 3);
  CHECK(s.drops[0].finish == ms(20));
  CHECK(sequences(s) == std::vector<uint64_t>{1});
}

TEST_CASE("explain: nothing is known of a request that was released by others, or never came") {
  memory m;
  m.table.release(m.take(1, 0));
  CHECK_FALSE(m.story(1).known);
  CHECK_FALSE(m.story(2).known);
  CHECK_FALSE(m.story(0).known);
  CHECK(m.story(2).state.empty());
}
