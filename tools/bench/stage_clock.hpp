// Times the stages of the scheduler inside a run by wrapping its actors and policies. Times are wall time, so
// measure on an idle machine.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/actor_group.hpp"
#include "policies/batching/batching.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

enum class stage : uint8_t {
  clients,
  model_queue,
  batching,
  rank_arbiter,
  matchmaking,
  gpu_worker,
  handover
};
inline constexpr size_t stage_count = 7;

/// Accumulates the time of each stage exclusively: the clock of a stage stops while it calls another. For one
/// thread; read the sums at the end.
class stage_clock {
 public:
  class scope {
   public:
    scope(stage_clock& c, stage s) : clock_(c), stage_(s), outer_(std::exchange(innermost(), this)) {}
    ~scope() {
      const auto took = clock_.now() - began_;
      clock_.sums_[static_cast<size_t>(stage_)] += took - inside_;
      if (outer_ != nullptr) outer_->inside_ += took;
      innermost() = outer_;
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    static scope*& innermost() {
      thread_local scope* s = nullptr;
      return s;
    }
    stage_clock& clock_;
    const stage stage_;
    scope* const outer_;
    const time_point began_ = clock_.now();
    duration inside_{};
  };

  /// Call before the stages run, or while they are idle.
  void reset() { sums_ = {}; }
  duration of(stage s) const { return sums_[static_cast<size_t>(s)]; }

 private:
  time_point now() const { return clock_.now(); }
  machine_clock clock_;
  std::array<duration, stage_count> sums_{};
};

/// An actor with timing.
template <class Actor>
class timed_actor final : public actor {
 public:
  template <class... Args>
  timed_actor(address self, outbox& out, stage_clock& times, stage s, Args&&... args)
      : actor(self, out), times_(times), stage_(s), inner_(self, out, std::forward<Args>(args)...) {}

  void on(envelope& e, time_point now) override {
    const stage_clock::scope counted(times_, stage_);
    inner_.on(e, now);
  }
  void on_time(time_point now) override {
    const stage_clock::scope counted(times_, stage_);
    inner_.on_time(now);
  }
  time_point next_wakeup() const override { return inner_.next_wakeup(); }
  void report(std::vector<metric>& out) const override { inner_.report(out); }
  size_t unfinished() const override { return inner_.unfinished(); }

 private:
  stage_clock& times_;
  const stage stage_;
  Actor inner_;
};

/// A timed message sink: hands the messages of a turn over to the hosts of their receivers, and wakes those.
class timed_message_sink final : public message_sink {
 public:
  timed_message_sink(message_sink& inner, stage_clock& times) : inner_(inner), times_(times) {}
  void carry(std::span<envelope> messages) override {
    const stage_clock::scope counted(times_, stage::handover);
    inner_.carry(messages);
  }

 private:
  message_sink& inner_;
  stage_clock& times_;
};

/// A batching policy with timing, except of mere lookups.
class timed_batching final : public batching_policy {
 public:
  timed_batching(std::unique_ptr<batching_policy> inner, stage_clock& times)
      : inner_(std::move(inner)), times_(times) {}

  void add(const queued_request& t, time_point now) override { counted(), inner_->add(t, now); }
  void remove_if(const std::function<bool(const queued_request&)>& leaves,
                 std::vector<queued_request>& out) override {
    counted(), inner_->remove_if(leaves, out);
  }
  void update(time_point now, time_point slot_free_at) override {
    counted(), inner_->update(now, slot_free_at);
  }
  const batch_window& window() const override { return inner_->window(); }
  time_point wake_at() const override { return inner_->wake_at(); }
  void take_batch(std::vector<queued_request>& out) override { counted(), inner_->take_batch(out); }
  void take_dropped(std::vector<dropped_queued_request>& out) override { inner_->take_dropped(out); }
  uint32_t queued_rows() const override { return inner_->queued_rows(); }
  size_t queued_requests() const override { return inner_->queued_requests(); }
  const latency_model& latency() const override { return inner_->latency(); }
  latency_model latency_of(uint64_t shape) const override { return inner_->latency_of(shape); }
  void set_latency(const latency_model& l) override { inner_->set_latency(l); }
  void arrived(uint64_t shape, uint64_t bytes) override { inner_->arrived(shape, bytes); }
  void learn(const batch_sample& s) override { inner_->learn(s); }
  void set_slots(uint32_t slots) override { inner_->set_slots(slots); }
  duration lead() const override { return inner_->lead(); }
  double need() const override { return inner_->need(); }
  void set_load(double load) override { inner_->set_load(load); }
  void set_backends(std::span<const backend> b, time_point now) override { inner_->set_backends(b, now); }
  std::span<const slot_id> slots() const override { return inner_->slots(); }
  batch_window choose(slot_id slot, const batch_window& offered) override {
    return inner_->choose(slot, offered);
  }

 private:
  /// Counts until the end of the full expression.
  stage_clock::scope counted() { return {times_, stage::batching}; }

  std::unique_ptr<batching_policy> inner_;
  stage_clock& times_;
};

/// A matchmaking policy with timing, likewise.
class timed_matchmaking final : public matchmaking_policy {
 public:
  timed_matchmaking(std::unique_ptr<matchmaking_policy> inner, stage_clock& times)
      : inner_(std::move(inner)), times_(times) {}

  void add_slot(slot_id slot, time_point free_at) override { inner_->add_slot(slot, free_at); }
  void remove_slot(slot_id slot) override { inner_->remove_slot(slot); }
  void set_models(slot_id slot, std::span<const model_id> models) override {
    inner_->set_models(slot, models);
  }
  void set_candidate(model_id model, const batch_window& window, duration delay) override {
    counted(), inner_->set_candidate(model, window, delay);
  }
  void remove_model(model_id model, time_point now) override { inner_->remove_model(model, now); }
  void occupy(model_id model, slot_id slot, time_point free_at) override {
    counted(), inner_->occupy(model, slot, free_at);
  }
  void set_free_at(slot_id slot, time_point free_at) override {
    counted(), inner_->set_free_at(slot, free_at);
  }
  void set_rows(slot_id slot, uint32_t rows) override { counted(), inner_->set_rows(slot, rows); }
  void poll(time_point now, std::vector<match>& out) override { counted(), inner_->poll(now, out); }
  time_point wake_at() const override { return inner_->wake_at(); }

 private:
  stage_clock::scope counted() { return {times_, stage::matchmaking}; }

  std::unique_ptr<matchmaking_policy> inner_;
  stage_clock& times_;
};

}  // namespace troupe
