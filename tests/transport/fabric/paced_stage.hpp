// Paced fabrics of several nodes in virtual time, over a carrier that takes a fixed time for everything.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/fabric/paced_fabric.hpp"

namespace troupe::testing {

/// The time of all nodes, and what happens at it.
class paced_time final : public clock {
 public:
  time_point now() const override { return now_; }
  void at(duration from_now, std::function<void()> what) {
    events_.emplace(now_ + from_now, std::move(what));
  }
  time_point next() const { return events_.empty() ? never : events_.begin()->first; }
  void go_to(time_point t) { now_ = std::max(now_, t); }
  void run_first() {
    go_to(next());
    const auto what = std::move(events_.extract(events_.begin()).mapped());
    what();
  }

 private:
  time_point now_{1h};
  std::multimap<time_point, std::function<void()>> events_;
};

/// The carrier of one node.
class paced_carrier final : public fabric {
 public:
  static constexpr duration latency = 50us, copying = 1ms;

  paced_carrier(paced_time& time, std::map<uint32_t, paced_carrier*>& all, uint32_t self)
      : time_(time), all_(all) {
    all_[self] = this;
  }
  ~paced_carrier() override { stop(); }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    memory_.resize(bytes);
    return {memory_, kind};
  }
  bool reaches(memory_kind) const override { return true; }
  void start(fabric_events& events) override { events_ = &events; }
  void stop() override {
    events_ = nullptr;
    end_pulls([](node_id) { return true; });
  }
  std::string address() const override { return "here"; }
  void connect(node_id peer, incarnation_id incarnation, std::string) override { peers_[peer] = incarnation; }
  void disconnect(node_id peer) override {
    peers_.erase(peer);
    end_pulls([&](node_id from) { return from == peer; });
  }
  void renew() override {
    peers_.clear();
    end_pulls([](node_id) { return true; });
  }
  void send(node_id to, std::vector<std::byte> frame) override {
    if (!peers_.contains(to)) return;
    time_.at(latency, [other = all_[to.value], frame = std::move(frame)] {
      if (other->events_ != nullptr) other->turn([&] { other->events_->on_frame(frame); });
    });
  }
  void begin_pull(node_id from, pull_plan plan, pull_done done) override {
    if (events_ == nullptr || !peers_.contains(from)) return done(pull_status::lost);
    const auto number = ++last_pull_;
    pulls_[number] = {from, std::move(done)};
    time_.at(copying, [this, number, from, plan = std::move(plan)] {
      if (!pulls_.contains(number)) return;
      const std::span<const std::byte> memory = all_[from.value]->memory_;
      const bool fits = std::ranges::all_of(
          plan.ranges, [&](const pulled_range& r) { return r.offset + r.into.size() <= memory.size(); });
      for (const auto& r : plan.ranges)
        if (fits) std::ranges::copy(memory.subspan(r.offset, r.into.size()), r.into.begin());
      const auto ended = std::move(pulls_.extract(number).mapped().second);
      turn([&] { ended(fits ? pull_status::ok : pull_status::refused); });
    });
  }
  void post(std::function<void()> job) override {
    time_.at(0ns, [this, job = std::move(job)] {
      if (events_ != nullptr) turn(job);
    });
  }

  /// The peer has died.
  void lose(node_id peer) {
    const auto incarnation = peers_.at(peer);
    disconnect(peer);
    turn([&] { events_->on_lost(peer, incarnation, "it died"); });
  }
  time_point tick_at() const { return events_ == nullptr ? never : events_->tick_at(); }
  void tick() {
    turn([&] { events_->on_tick(time_.now()); });
  }

 private:
  template <class What>
  void turn(const What& what) {
    what();
    if (events_ != nullptr) events_->on_turn_end();
  }
  template <class Which>
  void end_pulls(Which which) {
    for (auto it = pulls_.begin(); it != pulls_.end();) {
      const auto [from, done] = it->second;
      it = which(from) ? pulls_.erase(it) : std::next(it);
      if (which(from)) done(pull_status::lost);
    }
  }

  paced_time& time_;
  std::map<uint32_t, paced_carrier*>& all_;
  std::vector<std::byte> memory_;
  fabric_events* events_ = nullptr;
  std::map<node_id, incarnation_id> peers_;
  std::map<uint64_t, std::pair<node_id, pull_done>> pulls_;
  uint64_t last_pull_ = 0;
};

/// A node: its paced fabric, and what its owner sees.
struct paced_node final : fabric_events {
  paced_node(paced_time& time, std::map<uint32_t, paced_carrier*>& all, uint32_t self, double gbit_per_s)
      : via(new paced_carrier(time, all, self)),
        paced(make_paced_fabric(std::unique_ptr<fabric>(via), {node_id{self}, gbit_per_s}, time)) {
    memory = paced->allocate(memory_kind::host, 64u << 20).bytes;
    std::fill(memory.begin(), memory.end(), static_cast<std::byte>(self + 1));
    paced->start(*this);
  }
  void on_frame(std::span<const std::byte> bytes) override {
    frames.emplace_back(bytes.begin(), bytes.end());
  }
  void on_lost(node_id, incarnation_id, std::string) override { ++losses; }
  void on_turn_end() override { ++turns; }
  time_point tick_at() const override { return next_tick; }
  void on_tick(time_point now) override {
    ticks.push_back(now);
    next_tick = ticks.size() < 3 ? now + 10ms : never;
  }

  paced_carrier* via;
  std::unique_ptr<fabric> paced;
  std::span<std::byte> memory;
  std::vector<std::vector<std::byte>> frames;
  std::vector<time_point> ticks;
  time_point next_tick = never;
  int losses = 0, turns = 0;
};

/// Nodes 0, 1, ... with interfaces of these rates, all connected.
struct paced_stage {
  explicit paced_stage(const std::vector<double>& gbit_per_s, bool connected = true) {
    for (uint32_t i = 0; i < gbit_per_s.size(); ++i)
      nodes.push_back(std::make_unique<paced_node>(time, carriers, i, gbit_per_s[i]));
    for (uint32_t a = 0; connected && a < nodes.size(); ++a)
      for (uint32_t b = 0; b < nodes.size(); ++b)
        if (a != b) connect(a, b);
  }
  ~paced_stage() {
    for (auto& n : nodes) n->paced->stop();
  }
  fabric& operator[](uint32_t node) { return *nodes[node]->paced; }
  void connect(uint32_t a, uint32_t b) { (*this)[a].connect(node_id{b}, incarnation_id{1}, "here"); }

  void run_for(duration d) {
    const auto until = time.now() + d;
    while (step(until)) {
    }
    time.go_to(until);
  }
  /// Runs the next event, if it is not after `until`.
  bool step(time_point until) {
    const auto first = std::min_element(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
      return a->via->tick_at() < b->via->tick_at();
    });
    const auto tick = (*first)->via->tick_at();
    if (std::min(tick, time.next()) > until) return false;
    if (tick < time.next()) {
      time.go_to(tick);
      (*first)->via->tick();
    } else {
      time.run_first();
    }
    return true;
  }

  paced_time time;
  std::map<uint32_t, paced_carrier*> carriers;
  std::vector<std::unique_ptr<paced_node>> nodes;
};

}  // namespace troupe::testing
