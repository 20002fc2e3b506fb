#include "tools/bench/arbiter_ceiling.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "actors/tensor/rank_arbiter.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tools/bench/single_node.hpp"

namespace troupe {
namespace {

constexpr duration time_a_batch = 60ms, time_to_warm = 50ms, time_to_measure = 500ms;

/// The queues and the workers of the arbiter.
class busy_neighbours final : public outbox {
 public:
  busy_neighbours(uint32_t models, uint32_t gpus)
      : arbiter_(actor_here(role::rank_arbiter), *this, make_matchmaking("lowest_id")) {
    slot_ready ready;
    for (uint32_t m = 0; m < models; ++m) ready.models.push_back({model_id{m}, 1ms, 5ms, 64, {}});
    for (uint32_t i = 0; i < gpus; ++i) {
      ready.slot = slot_id{i};
      ready.worker = actor_here(role::gpu_worker, i);
      deliver(ready, ready.worker);
      // The first batches end one after the other, so that the GPUs stay staggered.
      first_ends_.push_back(start_ + time_a_batch * i / gpus);
    }
    for (uint32_t m = 0; m < models; ++m) offer(m);
  }

  double matches_per_second(duration time) {
    const machine_clock clock;
    const auto from = clock.now();
    const auto before = matches_;
    auto until = from;
    // Reading the clock costs as much as a match.
    for (; until - from < time; until = clock.now())
      for (int i = 0; i < 256; ++i) step();
    return static_cast<double>(matches_ - before) / to_seconds(until - from);
  }

  void send(const address&, const address&, actor_message message) override {
    if (const auto* g = std::get_if<grant>(&message)) granted_.push_back(*g);
  }

 private:
  struct end {
    time_point at;
    batch_done done;
  };

  template <class Message>
  void deliver(const Message& m, const address& from) {
    envelope e{from, arbiter_.self(), m};
    arbiter_.on(e, now_);
  }

  void offer(uint32_t model) {
    deliver(candidate{model_id{model}, ++sequence_, 32, now_, now_ + 1h, {}, false, 1},
            actor_here(role::model_queue, model));
  }

  /// The next event: the end of a batch, or the arbiter's wake-up.
  void step() {
    const auto ended = running_.empty() ? never : running_.front().at;
    now_ = std::max(now_, std::min(ended, arbiter_.next_wakeup()));
    if (ended <= now_) {
      deliver(running_.front().done, actor_here(role::gpu_worker, running_.front().done.slot.value));
      running_.pop_front();
    }
    arbiter_.on_time(now_);
    for (const auto& g : granted_) answer(g);
    granted_.clear();
  }

  void answer(const grant& g) {
    ++matches_;
    const auto& first = first_ends_[g.slot.value];
    const auto began = std::max(now_, g.free_at);
    const auto ends = first > began ? std::exchange(first_ends_[g.slot.value], start_) : began + time_a_batch;
    const batch_id id{++batches_};
    deliver(occupied{g.model, g.sequence, g.slot, id, ends}, actor_here(role::model_queue, g.model.value));
    running_.push_back({ends, {id, g.model, g.slot, refusal::none, 32, began, ends, {}}});
    // Only the first round can be out of order.
    for (auto i = running_.size() - 1; i > 0 && running_[i].at < running_[i - 1].at; --i)
      std::swap(running_[i], running_[i - 1]);
    offer(g.model.value);
  }

  static constexpr time_point start_{};
  time_point now_ = start_;
  rank_arbiter arbiter_;
  std::vector<time_point> first_ends_;
  std::deque<end> running_;
  std::vector<grant> granted_;
  uint64_t sequence_ = 0, batches_ = 0, matches_ = 0;
};

}  // namespace

double arbiter_ceiling(uint32_t models, uint32_t gpus) {
  busy_neighbours bench(models, gpus);
  bench.matches_per_second(time_to_warm);
  return bench.matches_per_second(time_to_measure);
}

}  // namespace troupe
