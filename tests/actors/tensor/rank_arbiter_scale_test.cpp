// The arbiter's advice on the number of slots, reported and applied.
#include "actors/tensor/rank_arbiter.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Ten slots with one model; a sample is 100 ms. Slot 4 is a real device.
struct scaling_stage : stage<rank_arbiter> {
  explicit scaling_stage(autoscale_mode mode = autoscale_mode::apply, uint32_t min = 1)
      : stage(the_arbiter, make_matchmaking("lowest_id"), options(mode, min)) {
    for (uint32_t i = 0; i < 10; ++i) deliver(ready(i));
    deliver(candidate{model_id{0}, 1, 1, never, never, {}}, the_queue);
    out.forget();
  }
  static rank_arbiter::options options(autoscale_mode mode, uint32_t min) {
    rank_arbiter::options o;
    o.autoscale.emplace();
    o.autoscale->mode = mode;
    o.autoscale->window = 1s;
    o.autoscale->min_gpus = min;
    for (uint32_t i = 0; i < 10; ++i)
      if (i != 4) o.scalable.insert(slot_id{i});
    return o;
  }
  /// In each sample the `busy` lowest slots run one batch, and `bad` of 100 requests end badly.
  void live(int samples, uint32_t busy, uint64_t bad = 0) {
    for (int i = 0; i < samples; ++i) {
      std::vector<batch_done> ended;
      for (uint32_t s = 0; s < busy; ++s) {
        deliver(candidate{model_id{0}, ++sequence_, 1, now, now + 1s, {}}, the_queue);
        const auto g = out.one<grant>();
        CHECK(g.slot == slot_id{s});
        deliver(occupied{g.model, g.sequence, g.slot, {sequence_}, now + 100ms}, the_queue);
        ended.push_back({{sequence_}, g.model, g.slot, refusal::none, 1, now - 100ms, now, {}});
      }
      for (const auto& d : ended) deliver(d, worker_of(d.slot.value));
      deliver(queue_load{100 - bad, bad}, the_queue);
      run_until(now + 100ms);
    }
  }
  /// The slots that went out (-) and came back since the last call, in order.
  std::vector<int> moved() {
    std::vector<int> all;
    for (const auto& s : out.take<slot_service>()) {
      const auto id = static_cast<int>(s.slot.value);
      all.push_back(s.in ? id : -id);
    }
    return all;
  }

 private:
  uint64_t sequence_ = 1;
};

}  // namespace

TEST_CASE("rank_arbiter: advice is reported, and changes nothing by itself") {
  scaling_stage a(autoscale_mode::advise);
  a.live(13, 4);
  CHECK(a.value_of("troupe_autoscale_advice") == -5);  // 4.4 stay
  CHECK(a.value_of("troupe_autoscale_idle_fraction") == doctest::Approx(0.6));
  CHECK(a.value_of("troupe_slots_in_service") == 10);
  CHECK(a.moved().empty());
  a.live(3, 10, 20);
  CHECK(a.value_of("troupe_autoscale_advice") == 3);  // 10 · 0.2 / 0.8
  CHECK(a.value_of("troupe_autoscale_bad_rate") == doctest::Approx(0.2));
}

TEST_CASE(
    "rank_arbiter: applied advice takes the highest emulated slots out, and puts the lowest back first") {
  scaling_stage a;
  a.live(13, 4);
  CHECK(a.moved() == std::vector{-9, -8, -7, -6, -5});
  CHECK(a.value_of("troupe_slots_in_service") == 5);
  a.live(3, 5, 30);  // 5 · 0.3 / 0.7
  CHECK(a.moved() == std::vector{5, 6, 7});
  a.live(13, 1);
  CHECK(a.moved() == std::vector{-7, -6, -5, -3, -2, -1});  // 4 is real
  CHECK(a.value_of("troupe_slots_in_service") == 2);
}

TEST_CASE("rank_arbiter: advice puts back no slot that an operator took out, and leaves every model one") {
  scaling_stage a;
  CHECK(a.actor.on_command({1, "take_slot_out", R"({"slot": 0})"}, a.now).ok);
  CHECK(a.actor.on_command({1, "take_slot_out", R"({"slot": 4})"}, a.now).ok);
  CHECK(a.moved() == std::vector{0, -4});
  a.live(13, 0);
  CHECK(a.moved() == std::vector{-9, -8, -7, -6, -5, -3, -2});
  a.live(3, 0, 90);
  CHECK(a.moved() == std::vector{2, 3, 5, 6});
  a.live(13, 0, 90);
  CHECK(a.value_of("troupe_slots_in_service") == 8);
}

TEST_CASE("rank_arbiter: without autoscale it neither wakes for advice nor reports it") {
  stage<rank_arbiter> a(the_arbiter, make_matchmaking("lowest_id"));
  CHECK(a.actor.next_wakeup() == never);
  std::vector<metric> all;
  a.actor.report(all);
  for (const auto& m : all) CHECK(m.name.find("autoscale") == std::string::npos);
}
