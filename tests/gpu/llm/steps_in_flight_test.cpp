#include "gpu/llm/steps_in_flight.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

#include "gpu/common/device_lost.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

struct set_clock final : clock {
  time_point now() const override { return at; }
  time_point at{};
};

/// Scripted: an ending step samples the token of `chooses`.
class scripted_step_model final : public step_model {
 public:
  engine_facts facts() const override { return {}; }
  uint64_t load(uint32_t, const layer_parameters&) override { return 0; }
  std::shared_ptr<const packed_adapter> pack(const adapter&) override { return nullptr; }
  void load(adapter_id, std::shared_ptr<const packed_adapter>) override {}
  void unload(adapter_id) override {}
  void begin(const llm_step&, std::span<const token_sampling>, uint32_t first, uint32_t end,
             activation*) override {
    if (on_begin) on_begin();
    started.push_back({first, end, nullptr});
  }
  bool is_ready() override { return true; }
  bool finish(std::vector<chosen_token>& chosen, const std::atomic<bool>& stopping) override {
    if (stopping) return false;
    if (on_finish) on_finish();
    CHECK(chosen.empty());
    chosen.push_back({chooses++, 0, {}, true});
    return true;
  }
  kv_cache_memory kv_memory() override { return {}; }

  std::function<void()> on_begin, on_finish;
  std::vector<layer_range> started;
  token chooses = 1;
};

/// Steps of three rows.
struct stage {
  stage() { step.tokens = {1, 2, 3}; }
  void begin(std::string problem = {}, const layer_range& layers = {}) {
    steps.begin(model, {&step, {}, layers}, 5, std::move(problem), stopping);
  }
  bool finish(std::vector<chosen_token> room = {}) { return steps.finish(model, std::move(room), stopping); }
  /// The next event.
  engine_event event() {
    REQUIRE_FALSE(events.empty());
    auto e = std::move(events.front());
    events.erase(events.begin());
    return e;
  }
  void pass(duration d) { time.at += d; }

  set_clock time;
  scripted_step_model model;
  std::vector<engine_event> events;
  std::atomic<bool> stopping = false;
  steps_in_flight steps{time, [this](engine_event e) { events.push_back(std::move(e)); }};
  llm_step step;
};

constexpr auto done = engine_event::kind::step_done, failed = engine_event::kind::step_failed;

}  // namespace

TEST_CASE("steps in flight: a step's time starts at its beginning, or at the end of the step before it") {
  stage s;
  s.pass(1h);
  s.begin();
  s.pass(3ms);
  s.begin();
  s.pass(4ms);
  CHECK(s.finish());
  CHECK(s.event().took == 7ms);
  s.pass(5ms);
  CHECK(s.finish());
  CHECK(s.event().took == 5ms);
  s.pass(1s);  // no step is in flight
  s.begin();
  s.pass(2ms);
  CHECK(s.finish());
  CHECK(s.event().took == 2ms);
  CHECK(s.steps.empty());
}

TEST_CASE("steps in flight: sampled tokens replace the contents of the given memory") {
  stage s;
  s.begin();
  std::vector<chosen_token> room(3);
  const auto* memory = room.data();
  CHECK(s.finish(std::move(room)));
  const auto e = s.event();
  CHECK(e.what == done);
  REQUIRE(e.chosen.size() == 1);
  CHECK(e.chosen.data() == memory);
  CHECK(e.chosen[0].which == 1);
}

TEST_CASE("steps in flight: a range of layers is cut at the model's last layer") {
  stage s;
  s.begin();
  s.begin({}, {1, 3, nullptr});
  s.begin({}, {3, 6, nullptr});
  REQUIRE(s.model.started.size() == 3);
  CHECK(s.model.started[0].first == 0);
  CHECK(s.model.started[0].end == 5);
  CHECK(s.model.started[1].first == 1);
  CHECK(s.model.started[1].end == 3);
  CHECK(s.model.started[2].end == 5);
}

TEST_CASE("steps in flight: a failed step fails those behind it, with one report") {
  stage s;
  for (int i = 0; i < 3; ++i) s.begin();
  CHECK(s.finish());
  CHECK(s.event().what == done);
  s.model.on_finish = [] { throw std::runtime_error("a bit has tipped over"); };
  CHECK_FALSE(s.finish());
  CHECK(s.steps.empty());
  const auto e = s.event();
  CHECK(e.what == failed);
  CHECK(e.problem == "a bit has tipped over");
  CHECK(s.events.empty());
}

TEST_CASE("steps in flight: a step with a problem does not begin, and fails after the steps before it") {
  stage s;
  s.begin("no such adapter");  // there is no step before it
  CHECK(s.event().problem == "no such adapter");
  s.begin();
  s.begin();
  s.begin("no such adapter");
  CHECK(s.model.started.size() == 2);
  CHECK(s.event().chosen.at(0).which == 1);
  CHECK(s.event().chosen.at(0).which == 2);
  CHECK(s.event().problem == "no such adapter");
  CHECK(s.steps.empty());
}

TEST_CASE("steps in flight: a problem behind a failed step is not reported") {
  stage s;
  s.begin();
  s.model.on_finish = [] { throw std::runtime_error("a bit has tipped over"); };
  s.begin("no such adapter");
  CHECK(s.event().problem == "a bit has tipped over");
  CHECK(s.events.empty());
  CHECK(s.steps.empty());
}

TEST_CASE("steps in flight: a step without room reports its size") {
  stage s;
  s.model.on_begin = [] { throw std::bad_alloc(); };
  s.begin();
  CHECK(s.event().problem == "a step of 3 tokens does not fit into memory");
  CHECK(s.steps.empty());
}

TEST_CASE("steps in flight: stopped steps are not reported") {
  stage s;
  s.begin();
  s.begin();
  s.stopping = true;
  CHECK_FALSE(s.finish());
  CHECK(s.steps.empty());
  CHECK(s.events.empty());
}

TEST_CASE("steps in flight: the loss of the device is thrown to the caller") {
  stage s;
  s.model.on_begin = [] { throw device_lost("it has fallen off the bus"); };
  CHECK_THROWS_AS(s.begin(), device_lost);
  s.model.on_begin = nullptr;
  s.model.on_finish = [] { throw device_lost("it has fallen off the bus"); };
  s.begin();
  CHECK_THROWS_AS(s.finish(), device_lost);
  CHECK(s.events.empty());
}
