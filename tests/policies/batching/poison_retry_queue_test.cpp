#include "policies/batching/poison_retry_queue.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr latency_model retry_latency{1ms, 5ms};

poison_retry_queue::retry retry(uint32_t handle, double deadline, uint64_t id = 1, uint32_t rows = 1) {
  return {handle, request_id{id}, rows, ms(deadline)};
}

std::vector<uint32_t> taken(poison_retry_queue& q) {
  std::vector<uint32_t> out;
  while (!q.empty()) out.push_back(q.take_front().handle);
  return out;
}

}  // namespace

TEST_CASE("a poison_retry_queue gives the retry that must start first, of equals that with the lower id") {
  poison_retry_queue q;
  q.add(retry(1, 30), retry_latency);
  q.add(retry(2, 20, 9), retry_latency);
  q.add(retry(3, 20, 8), retry_latency);
  q.add(retry(4, 21, 1, 10), retry_latency);  // its rows take longer
  CHECK(taken(q) == std::vector<uint32_t>{4, 3, 2, 1});
}

TEST_CASE("a poison_retry_queue hands out retries that are late, by the latency as it is now") {
  poison_retry_queue q;
  q.add(retry(1, 20), retry_latency);
  q.add(retry(2, 30), retry_latency);
  CHECK_FALSE(q.take_late(ms(14), retry_latency));
  CHECK(q.take_late(ms(14) + duration{1}, retry_latency) == 1u);
  CHECK_FALSE(q.take_late(ms(24), retry_latency));
  CHECK(q.take_late(ms(24), {1ms, 6ms}) == 2u);
  CHECK_FALSE(q.take_late(ms(99), retry_latency));
}

TEST_CASE("a poison_retry_queue offers one retry at a time, and takes its offer back once there is none") {
  poison_retry_queue q;
  CHECK_FALSE(q.offer(ms(0)));
  q.add(retry(1, 20, 1, 3), retry_latency);
  q.add(retry(2, 30), retry_latency);
  CHECK(q.offer(ms(0)) == 3u);
  CHECK_FALSE(q.offer(ms(1)));
  CHECK(q.withdraw());  // granted
  q.take_front();
  CHECK(q.offer(ms(2)) == 1u);
  std::vector<uint32_t> gone;
  q.remove_if([](uint32_t handle) { return handle == 2; }, gone);
  CHECK(gone == std::vector<uint32_t>{2});
  CHECK(q.offer(ms(3)) == 0u);
  CHECK_FALSE(q.offer(ms(4)));
  CHECK_FALSE(q.withdraw());
}

TEST_CASE(
    "a poison_retry_queue can delay its next offer, and wakes for it or for a retry that becomes late") {
  poison_retry_queue q;
  CHECK(q.wake_at(retry_latency) == never);
  q.delay_offer(ms(5));
  q.add(retry(1, 20), retry_latency);
  CHECK_FALSE(q.offer(ms(4)));
  CHECK(q.wake_at(retry_latency) == ms(5));
  CHECK(q.offer(ms(5)) == 1u);
  CHECK(q.wake_at(retry_latency) == ms(14) + duration{1});
  q.clear();
  CHECK(q.wake_at(retry_latency) == never);
  CHECK_FALSE(q.offer(ms(6)));  // no message withdraws a cleared offer
}

TEST_CASE("poison_verdict: two crashes are poison, any other second loss is not") {
  using enum worker_loss;
  CHECK(poison_verdict(worker_crashed, worker_crashed) == failure::poison);
  CHECK(poison_verdict(worker_crashed, worker_loss::worker_lost) == failure::worker_lost);
  CHECK(poison_verdict(worker_loss::worker_lost, worker_crashed) == failure::worker_lost);
  CHECK(poison_verdict(none, worker_crashed) == failure::worker_lost);
}
