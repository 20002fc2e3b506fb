#include "policies/common/pull_window.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace troupe;

namespace {

/// A window with outputs whose buffers are 2 bytes larger than they are.
struct window_stage {
  explicit window_stage(uint64_t max_bytes) : window(max_bytes) {}

  void offer(uint64_t id, uint64_t bytes, uint32_t worker = 0) {
    outputs[request_id{id}] = {node_id{worker}, bytes};
    window.add(request_id{id});
  }
  /// The ids of the pulls that begin.
  std::vector<uint64_t> pull(uint64_t unwritten = 0) {
    std::vector<uint64_t> begun;
    window.pull(
        now, unwritten,
        [&](request_id id) -> std::optional<offered_output> {
          const auto o = outputs.find(id);
          if (o == outputs.end()) return {};
          return o->second;
        },
        [&](request_id id) {
          begun.push_back(id.value);
          return outputs.at(id).bytes + 2;
        });
    return begun;
  }
  void end(uint64_t id) {
    const auto o = outputs.at(request_id{id});
    window.end(o.worker, o.bytes + 2);
    outputs.erase(request_id{id});
  }

  pull_window window;
  std::map<request_id, offered_output> outputs;
  time_point now{};
};

using pulled_ids = std::vector<uint64_t>;

}  // namespace

TEST_CASE("pull window: a worker may hold as much as it leaves to others, the oldest outputs first") {
  window_stage s(40);
  for (uint64_t id = 1; id <= 4; ++id) s.offer(id, 8);
  CHECK(s.pull() == pulled_ids{1, 2});  // 20 held: a third would leave less to others than it takes
  CHECK(s.window.pulled_bytes() == 20);
  CHECK(s.window.waiting() == 2);
  s.end(1);
  CHECK(s.pull() == pulled_ids{3});
  s.end(2), s.end(3);
  CHECK(s.pull() == pulled_ids{4});
  s.end(4);
  CHECK(s.window.pulled_bytes() == 0);
}

TEST_CASE("pull window: a stalled worker does not keep the outputs of others out") {
  window_stage s(40);
  for (uint64_t id = 1; id <= 3; ++id) s.offer(id, 8, 0);
  s.offer(4, 8, 1);
  CHECK(s.pull() == pulled_ids{1, 2, 4});
}

TEST_CASE("pull window: a large output lets small ones go ahead, and goes when it is the oldest") {
  window_stage s(40);
  s.offer(1, 8);
  s.offer(2, 1000);
  s.offer(3, 8);
  CHECK(s.pull() == pulled_ids{1, 3});
  s.end(1);
  CHECK(s.pull().empty());  // 10 bytes are held, more than an eighth
  s.end(3);
  CHECK(s.pull() == pulled_ids{2});
}

TEST_CASE("pull window: only the oldest output is pulled at any size") {
  window_stage s(1);
  s.offer(1, 8), s.offer(2, 8);
  CHECK(s.pull() == pulled_ids{1});
  CHECK(s.pull().empty());
  s.end(1);
  CHECK(s.pull() == pulled_ids{2});
}

TEST_CASE("pull window: unwritten answers take room, and a refused pull is tried again") {
  window_stage s(40);
  CHECK(s.window.next_look() == never);
  s.offer(1, 8);
  CHECK(s.pull(1000).empty());
  CHECK(s.window.next_look() == s.now + 1ms);
  CHECK(s.pull(5) == pulled_ids{1});
  CHECK(s.window.next_look() == never);
}

TEST_CASE("pull window: a removed output leaves the window, and the next one is the oldest") {
  window_stage s(8);
  s.offer(1, 8), s.offer(2, 8);
  s.outputs.erase(request_id{1});
  CHECK(s.pull() == pulled_ids{2});
  CHECK(s.window.waiting() == 0);
}

TEST_CASE("pull window: a look goes through a bounded number of outputs") {
  window_stage s(10'000);
  for (uint64_t id = 1; id <= 300; ++id) s.offer(id, 1'000'000, static_cast<uint32_t>(id));
  s.offer(301, 8, 7);
  CHECK(s.pull() == pulled_ids{1});  // the oldest; 301 is out of sight
  CHECK(s.window.waiting() == 300);
}
