// The bare event loop takes the same decisions as the actors: compares every batch.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>

#include "tools/lab/trial.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

/// An engine's decisions, in a canonical order.
struct decisions final : trial_watch {
  std::vector<std::tuple<duration, uint32_t, uint32_t, uint32_t, duration, duration>> batches;
  std::vector<std::tuple<duration, uint32_t, uint32_t, uint32_t, duration, duration>> stopped;
  std::vector<std::tuple<duration, uint32_t, duration>> losses;
  void on_batch(const batch& b) override {
    batches.emplace_back(b.granted, b.model, b.slot, b.rows, b.started, b.ends);
  }
  /// A batch that is preempted as it starts has done nothing: a worker with actors gets both orders at once.
  void on_stopped(const batch& b) override {
    if (b.ends <= b.started) {
      std::erase_if(batches, [&](const auto& x) {
        const auto& [granted, model, slot, rows, from, until] = x;
        return granted == b.granted && model == b.model && slot == b.slot && rows == b.rows;
      });
      return;
    }
    stopped.emplace_back(b.granted, b.model, b.slot, b.rows, b.started, b.ends);
  }
  void on_loss(const loss& l) override { losses.emplace_back(l.arrived, l.model, l.given_up); }
  void sort() {
    std::sort(batches.begin(), batches.end());
    std::sort(stopped.begin(), stopped.end());
    std::sort(losses.begin(), losses.end());
  }
};

void check_same(const trial& t) {
  spdlog::set_level(spdlog::level::off);
  decisions direct, actors;
  const auto a = run_direct(t, &direct);
  const auto b = run_actors(t, &actors);
  direct.sort();
  actors.sort();
  CHECK(direct.batches.size() > 100);  // the run makes progress
  for (size_t i = 0; i < std::min(direct.batches.size(), actors.batches.size()); ++i) {
    const auto& [g, m, s, r, from, until] = direct.batches[i];
    const auto& [g2, m2, s2, r2, from2, until2] = actors.batches[i];
    INFO(fmt::format(
        "batch {}: at {} ns model {} slot {} rows {} start {}; at {} ns model {} slot {} rows {} start {}", i,
        g.count(), m, s, r, from.count(), g2.count(), m2, s2, r2, from2.count()));
    REQUIRE(direct.batches[i] == actors.batches[i]);
  }
  CHECK(direct.batches.size() == actors.batches.size());
  CHECK(direct.stopped == actors.stopped);
  CHECK(direct.losses == actors.losses);
  REQUIRE(a.models.size() == b.models.size());
  for (size_t i = 0; i < a.models.size(); ++i) {
    CHECK(a.models[i].offered == b.models[i].offered);
    CHECK(a.models[i].good == b.models[i].good);
  }
  CHECK(a.batches == b.batches);
  CHECK(a.busy == b.busy);
  CHECK(a.queueing.counts() == b.queueing.counts());
}

trial resnet50() {
  trial t;
  t.models = {{"resnet50", {1053us, 5072us}, 25ms}};
  t.slots = 8;
  t.rate = 5300;
  t.warm_up = 500ms;
  t.length = 2500ms;
  return t;
}

}  // namespace

TEST_CASE("engines: one model, near its goodput and beyond, whatever the policy") {
  for (const auto* name : {"deferred", "eager", "timeout(30%)", "clockwork", "clockwork(any)"})
    for (const double rate : {2000.0, 5300.0, 8000.0}) {
      CAPTURE(std::string(name));
      CAPTURE(rate);
      auto t = resnet50();
      t.how = *scheduling_named(name);
      t.rate = rate;
      check_same(t);
    }
}

TEST_CASE("engines: Nexus, one model near its goodput and beyond") {
  for (const double rate : {2000.0, 4200.0, 8000.0}) {
    CAPTURE(rate);
    auto t = resnet50();
    t.how = *scheduling_named("nexus");
    t.rate = rate;
    check_same(t);
  }
}

TEST_CASE("engines: Nexus, several models that share slots, and bursts") {
  // The actors plan with the models' weights until they have measured for an epoch, which is longer than this
  // run; the direct engine plans with the same shares.
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    auto t = resnet50();
    t.how = *scheduling_named("nexus");
    t.seed = seed;
    t.models.push_back({"inception", {5090us, 18368us}, 70ms, 0.2});
    t.models.push_back({"bert", {7008us, 159us}, 56ms, 0.1});
    t.rate = seed % 2 == 0 ? 1500 : 3000;
    t.arrivals = arrival_kind::gamma;
    t.gamma_cv = 2;
    if (seed > 2) t.response = 1ms;
    check_same(t);
  }
}

TEST_CASE("engines: several models and bursts") {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    auto t = resnet50();
    t.seed = seed;
    t.models.push_back({"inception", {5090us, 18368us}, 70ms, 0.2});
    t.models.push_back({"bert", {7008us, 159us}, 56ms, 0.1});
    t.rate = 2500;
    t.arrivals = arrival_kind::gamma;
    t.gamma_cv = 2;
    if (seed > 2) t.response = 1ms;
    check_same(t);
  }
}

TEST_CASE("engines: Shepherd, which stops batches, below its goodput, near it and beyond") {
  for (const double rate : {3000.0, 4500.0, 4800.0, 8000.0}) {
    CAPTURE(rate);
    auto t = resnet50();
    t.how = *scheduling_named("shepherd");
    t.rate = rate;
    t.length = 6s;
    CHECK(run_direct(t).preempted > 0);
    check_same(t);
  }
}

TEST_CASE("engines: Shepherd, which stops batches of other models, and bursts") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    auto t = resnet50();
    t.seed = seed;
    t.how = *scheduling_named("shepherd");
    t.models.push_back({"inception", {5090us, 18368us}, 70ms, 0.2});
    t.models.push_back({"bert", {7008us, 159us}, 56ms, 0.1});
    t.rate = 1600 + 300 * static_cast<double>(seed);
    if (seed > 2) t.response = 1ms;
    if (seed > 4) {
      t.arrivals = arrival_kind::gamma;
      t.gamma_cv = 2;
    }
    CHECK(run_direct(t).preempted > 0);
    check_same(t);
  }
}
