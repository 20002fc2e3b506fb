// A real actor system for tests, and an actor to watch CAF hosts by.
#pragma once
#include <doctest/doctest.h>

#include <atomic>
#include <caf/actor_system.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "actors/runtime/caf_host.hpp"
#include "actors/runtime/caf_types.hpp"
#include "actors/runtime/system_config.hpp"

namespace troupe::test {

class caf_fixture {
 public:
  caf_fixture() : system_(config_) {}
  caf::actor_system& system() { return system_; }

 private:
  threaded_config config_{1};
  caf::actor_system system_;
};

/// Counts messages and wakes on request: `cancel{ms}` requests a wake-up in `ms` milliseconds. A `release`
/// makes it throw, and `no_report` a report.
class probe final : public actor {
 public:
  struct log {
    std::atomic<int> received{0}, alive{0};
    std::atomic<int64_t> woke_late_by_ns{-1};
    std::atomic<bool> no_report{false};
    std::atomic<std::thread::id> thread{};   ///< of the last message
    std::atomic<int> turns{0}, takes_ms{0};  ///< those that it was called in; the time of a message
  };
  probe(address self, outbox& out, log& l) : actor(self, out), log_(l) { ++log_.alive; }
  ~probe() override { --log_.alive; }
  void on(envelope& e, time_point now) override {
    log_.thread = std::this_thread::get_id();
    ++log_.received;
    std::this_thread::sleep_for(std::chrono::milliseconds(log_.takes_ms));
    if (std::holds_alternative<release>(e.body)) throw std::runtime_error("no idea");
    if (const auto* c = std::get_if<cancel>(&e.body)) wake_at_ = now + std::chrono::milliseconds(c->id.value);
  }
  void on_time(time_point now) override {
    ++log_.turns;
    if (now < wake_at_) return;
    log_.woke_late_by_ns = (now - wake_at_).count();
    wake_at_ = never;
  }
  time_point next_wakeup() const override { return wake_at_; }
  void report(std::vector<metric>& out) const override {
    if (log_.no_report) throw std::runtime_error("no report");
    out.push_back(
        {"heard", {{"probe", std::to_string(self_.index)}}, 1.0 * log_.received, metric::kind::counter});
  }
  size_t unfinished() const override { return 2; }

 private:
  log& log_;
  time_point wake_at_ = never;
};

/// Until `done` holds, for ten seconds at most.
template <class Predicate>
bool eventually(Predicate done) {
  for (int i = 0; i < 2000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return done();
}

}  // namespace troupe::test
