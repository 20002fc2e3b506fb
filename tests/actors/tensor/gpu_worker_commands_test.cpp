#include "actors/tensor/gpu_worker.hpp"

#include "tests/actors/tensor/command_stage.hpp"
#include "tests/actors/tensor/worker_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct commanded_worker : basic_worker_stage<command_stage<gpu_worker>> {
  commanded_worker() { deliver(node_up{gateway_node, {11}}); }
  void order_batch(uint64_t batch, double exec_at) {
    request r;
    r.id = request_id{batch};
    r.gateway = the_gateway;
    deliver(
        batch_order{
            {batch}, {10}, model_id{0}, slot_id{0}, the_queue, now, at(exec_at), at(exec_at + 1), {r}},
        the_queue);
  }
};

}  // namespace

TEST_CASE("gpu_worker commands: it lists its batches, and records them on command") {
  commanded_worker w;
  CHECK(w.ask<worker_state>("get_state").state == "loading");
  w.load(0, 0);
  CHECK(w.ask<worker_state>("get_state").state == "idle");
  CHECK(w.order("take_trace", R"({"limit": 5})").body == "nothing is recorded; send start_trace first");
  CHECK(w.order("start_trace", R"({"capacity": 2, "sample": 1})").ok);
  w.order_batch(1, 3);
  auto s = w.ask<worker_state>("get_state");
  CHECK(s.state == "running");
  REQUIRE(s.batches.size() == 1);
  CHECK(s.batches[0].running);
  CHECK(s.batches[0].starts_in == 3ms);
  w.run_until(at(20));
  for (uint64_t batch = 2; batch <= 4; ++batch) w.order_batch(batch, 10);  // too late: refused
  const auto t = w.ask<traced_batches>("take_trace", R"({"limit": 5})");
  CHECK(t.lost == 2);
  REQUIRE(t.batches.size() == 2);
  CHECK(t.batches[1].batch == batch_id{4});
  CHECK(t.batches[1].refused == "late");
  CHECK(w.order("stop_trace").ok);
}

TEST_CASE("gpu_worker commands: it keeps the last batches that ran, and lists those after a number") {
  commanded_worker w;
  w.load(0, 0);
  const char* all_of_them = R"({"after": 0, "limit": 1000})";
  CHECK(w.ask<past_batches>("list_batches", all_of_them).batches.empty());
  w.order_batch(1, 3);
  w.run_until(at(20));
  w.order_batch(2, 10);  // too late: never ran
  w.order_batch(3, 30);
  w.run_until(at(60));
  const auto all = w.ask<past_batches>("list_batches", all_of_them).batches;
  REQUIRE(all.size() == 2);
  CHECK(all[0].number == 1);
  CHECK(all[0].requests == 1);
  CHECK(all[0].rows == 1);
  CHECK(all[0].took == 6ms);
  CHECK(all[0].ended_ago == 54ms);
  CHECK_FALSE(all[0].stopped);
  const auto later = w.ask<past_batches>("list_batches", R"({"after": 1, "limit": 9})").batches;
  REQUIRE(later.size() == 1);
  CHECK(later[0].number == 2);
  CHECK(w.ask<past_batches>("list_batches", R"({"after": 0, "limit": 1})").batches.at(0).number == 2);
  CHECK(w.ask<past_batches>("list_batches", R"({"after": 2, "limit": 9})").batches.empty());
  for (uint64_t batch = 4; batch < 4 + 520; ++batch) {
    w.order_batch(batch, 1e6);
    w.run_until(w.now + 10ms);
  }
  const auto kept = w.ask<past_batches>("list_batches", all_of_them).batches;
  REQUIRE(kept.size() == 512);
  CHECK(kept.front().number == 11);
  CHECK(kept.back().number == 522);
}
