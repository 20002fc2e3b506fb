#include "tools/bench/bare_scheduler.hpp"

#include <time.h>

#include <algorithm>
#include <queue>
#include <vector>

#include "actors/runtime/actor_group.hpp"
#include "actors/tensor/model_queue.hpp"
#include "actors/tensor/rank_arbiter.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"
#include "policies/workload/arrivals.hpp"
#include "tools/bench/single_node.hpp"

namespace troupe {
namespace {

constexpr uint32_t largest_batch = 1024;
/// Requests reach their queues in the turns of a gateway, which are this far apart.
constexpr duration gateway_turn = 250us;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

class bare_scheduler::impl final : public message_sink {
 public:
  explicit impl(const bare_scheduler_options& o) : options_(o) {
    rank_arbiter::options a;
    a.decision_log = o.decision_log;
    group_.add<rank_arbiter>(actor_here(role::rank_arbiter), make_matchmaking("lowest_id"), a);
    slot_ready ready;
    for (uint32_t m = 0; m < o.models; ++m) {
      ready.models.push_back({model_id{m}, o.latency.alpha, o.latency.beta, largest_batch, {}});
      group_.add<model_queue>(actor_here(role::model_queue, m), queue_of(m),
                              make_batching(o.batching, "window", batching()));
      const arrival_spec spec{arrival_kind::poisson, o.requests_per_second / o.models, 1};
      streams_.push_back({arrival_process(spec, now_, random_stream(1, "arrivals", m)), now_});
      streams_.back().next = streams_.back().arrivals.next();
    }
    for (uint32_t i = 0; i < o.gpus; ++i) {
      ready.slot = slot_id{i};
      ready.worker = actor_here(role::gpu_worker, i);
      turn_.push_back({ready.worker, {}, ready});
    }
    take_turn();
  }

  void run(duration time) {
    for (const auto until = now_ + time; now_ < until; take_turn()) {
      now_ = std::max(now_, next_moment());
      for (; !running_.empty() && running_.top().finished_at <= now_; running_.pop()) end(running_.top());
      if (now_ >= next_arrivals_) arrive();
    }
  }

  uint64_t requests = 0, batches = 0, dropped = 0;

 private:
  struct stream {
    arrival_process arrivals;
    time_point next;
    size_t last = 0;  ///< arrived together
  };
  struct later {
    bool operator()(const batch_done& a, const batch_done& b) const { return a.finished_at > b.finished_at; }
  };

  batching_parameters batching() const {
    batching_parameters p;
    p.latency = options_.latency;
    p.slo = options_.slo;
    p.slots = options_.gpus;
    p.max_rows = largest_batch;
    return p;
  }
  model_queue::options queue_of(uint32_t m) const {
    model_queue::options q;
    q.model = model_id{m};
    q.arbiter = actor_here(role::rank_arbiter);
    q.term = term_id{1};
    q.max_queued_rows = 1u << 20;
    q.latency_given = true;
    q.decision_log = options_.decision_log;
    q.parameters = batching();
    return q;
  }

  void take_turn() {
    group_.turn(turn_, now_);
    turn_.clear();
  }
  void carry(std::span<envelope> messages) override {
    for (const auto& e : messages) {
      if (const auto* o = std::get_if<batch_order>(&e.body)) begin(*o);
      if (const auto* d = std::get_if<drops>(&e.body)) dropped += d->requests.size();
    }
  }

  time_point next_moment() const {
    const auto at = std::min(next_arrivals_, group_.next_wakeup());
    return running_.empty() ? at : std::min(at, running_.top().finished_at);
  }

  void arrive() {
    next_arrivals_ = now_ + gateway_turn;
    for (uint32_t m = 0; m < streams_.size(); ++m) {
      auto& s = streams_[m];
      if (s.next > now_) continue;
      submit of;
      of.requests.reserve(s.last + s.last / 2);
      for (; s.next <= now_; s.next = std::max(s.arrivals.next(), s.next + 1ns)) {
        auto& r = of.requests.emplace_back();
        r.id = request_id{++requests};
        r.model = model_id{m};
        r.gateway = actor_here(role::gateway);
        r.arrival = s.next;
        r.deadline = s.next + options_.slo;
      }
      s.last = of.requests.size();
      turn_.push_back({actor_here(role::gateway), actor_here(role::model_queue, m), std::move(of)});
    }
  }

  /// A GPU starts an order at its planned time: it is free by then.
  void begin(const batch_order& o) {
    const auto rows = static_cast<uint32_t>(o.requests.size());
    const auto start = std::max(now_, o.exec_at);
    running_.push({o.batch, o.model, o.slot, refusal::none, rows, start, start + options_.latency(rows), {}});
  }
  void end(const batch_done& d) {
    ++batches;
    const auto gpu = actor_here(role::gpu_worker, d.slot.value);
    turn_.push_back({gpu, actor_here(role::model_queue, d.model.value), d});
    turn_.push_back({gpu, actor_here(role::rank_arbiter), d});
  }

  const bare_scheduler_options options_;
  time_point now_{};
  actor_group group_{*this};
  message_batch turn_;  ///< messages for the next turn
  std::vector<stream> streams_;
  std::priority_queue<batch_done, std::vector<batch_done>, later> running_;
  time_point next_arrivals_{};
};

bare_scheduler::bare_scheduler(const bare_scheduler_options& o) : impl_(std::make_unique<impl>(o)) {}
bare_scheduler::~bare_scheduler() = default;

void bare_scheduler::run(duration time) { impl_->run(time); }
uint64_t bare_scheduler::requests() const { return impl_->requests; }
uint64_t bare_scheduler::batches() const { return impl_->batches; }
uint64_t bare_scheduler::dropped() const { return impl_->dropped; }

scheduler_cost cost_of_scheduling(bare_scheduler_options o) {
  constexpr int runs = 20;
  constexpr duration warmup = 300ms, length = 50ms;
  bare_scheduler logged(o);
  o.decision_log = 0;
  bare_scheduler plain(o);
  const auto cost = [](bare_scheduler& s, duration time) {
    const auto before = s.requests();
    const auto began = cpu_seconds();
    s.run(time);
    return 1e9 * (cpu_seconds() - began) / static_cast<double>(s.requests() - before);
  };
  cost(plain, warmup);
  cost(logged, warmup);
  scheduler_cost best{cost(plain, length), cost(logged, length)};
  for (int i = 1; i < runs; ++i)
    best = {std::min(best.ns, cost(plain, length)), std::min(best.logged_ns, cost(logged, length))};
  return best;
}

}  // namespace troupe
