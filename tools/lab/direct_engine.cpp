// The pure policies in a bare event loop. It uses them like the actors (model_queue, rank_arbiter,
// gpu_worker) on a network without delay, so that both make the same decisions.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "policies/batching/admission.hpp"
#include "policies/batching/batching.hpp"
#include "policies/common/tournament.hpp"
#include "policies/matchmaking/load_tracker.hpp"
#include "policies/matchmaking/matchmaking.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"
#include "policies/workload/arrivals.hpp"
#include "tools/lab/trial.hpp"
#include "tools/lab/trial_statistics.hpp"

namespace troupe::lab {
namespace {

constexpr batch_window never_told{~0u, never, never};

class direct_engine {
 public:
  direct_engine(const trial& t, trial_watch* watch) : trial_(t), watch_(watch), statistics_(t) {
    arbiter_ = make_matchmaking(t.how.matchmaking);
    if (arbiter_ == nullptr) throw std::invalid_argument("unknown matchmaking '" + t.how.matchmaking + "'");
    slots_.resize(t.slots);
    for (uint32_t s = 0; s < t.slots; ++s) arbiter_->add_slot(slot_id{s}, start);
    if (t.how.matchmaking == "nexus") place_models();
    double shares = 0;
    for (const auto& m : t.models) shares += m.share;
    for (uint32_t i = 0; i < t.models.size(); ++i) add_source(i, t.rate * t.models[i].share / shares);
    for (const auto& m : t.models) add_queue(m);
  }

  /// Processes events in the order of (time, kind, id) until there is none.
  trial_result run() {
    while (true) {
      const auto arrival = arrivals_.best(), wake = wakes_.best(), end = ends_.best();
      const auto next = std::min({arrival, wake, end, arbiter_->wake_at()});
      if (next == never) return statistics_.close();
      now_ = std::max(now_, next);
      if (arrival == next)
        arrive(arrivals_.first());
      else if (wake == next)
        turn(wakes_.first());
      else if (end == next)
        is_done(ends_.first());
      match_all();
    }
  }

 private:
  static constexpr time_point start{};

  /// The arrivals of a model.
  struct source {
    arrival_process process;
    load_curve curve;
    uint64_t arrived = 0;
  };
  struct queue {
    std::unique_ptr<batching_policy> policy;
    batching_parameters parameters;
    admission limiter;
    uint32_t last_batch_rows = 1;
    batch_window sent_window{};
    std::vector<slot_id> sent_slots{};  ///< slots covered by the window that was sent
    uint32_t standing_rows = 0;         ///< of its candidate, as known to the arbiter
  };
  struct slot {
    time_point ends = long_ago;  ///< of all its orders: at most one running and one waiting
    uint32_t model = 0;          ///< of the last order, like `rows`
    uint32_t rows = 0;           ///< as in its candidate
    time_point granted = long_ago, from = long_ago;
    std::vector<queued_request> batch;
  };
  /// A batch that was preempted, until the scheduler is notified.
  struct stopped_batch {
    uint32_t model, slot;
    time_point free_at;  ///< of the slot, now
    std::vector<queued_request> batch;
  };

  void add_source(uint32_t i, double rate) {
    const arrival_spec spec{trial_.arrivals, rate, trial_.gamma_cv};
    sources_.push_back({arrival_process(spec, start, random_stream(trial_.seed, "arrivals", i)),
                        load_curve(trial_.changes, i)});
    if (rate > 0) schedule_arrival(i);
  }

  void add_queue(const served_model& m) {
    batching_parameters p;
    p.latency = m.latency;
    p.network = trial_.network;
    p.slo = m.slo;
    p.response = trial_.response;
    p.max_rows = m.max_rows;
    p.slots = trial_.slots;
    auto policy = make_batching(trial_.how.batching, trial_.how.shedding, p);
    if (policy == nullptr)
      throw std::invalid_argument("unknown batching '" + trial_.how.batching + "' or shedding '" +
                                  trial_.how.shedding + "'");
    queues_.push_back({std::move(policy), p, {}});
  }

  /// The rates are known and do not change: it plans once.
  void place_models() {
    std::vector<model_id> all;
    for (uint32_t i = 0; i < trial_.models.size(); ++i) {
      const auto& m = trial_.models[i];
      all.push_back(model_id{i});
      const auto slo = m.slo - trial_.response - trial_.network(1);
      arbiter_->set_profile(all.back(), {m.latency, slo, m.max_rows, m.share});
    }
    for (uint32_t s = 0; s < trial_.slots; ++s) arbiter_->set_models(slot_id{s}, all);
  }

  void schedule_arrival(uint32_t i) {
    auto& s = sources_[i];
    const auto at = s.curve.time_of(s.process.next() - start);
    arrivals_.set(i, at < trial_.length ? start + at : never);
  }

  void arrive(uint32_t i) {
    auto& s = sources_[i];
    const auto& slo = trial_.models[i].slo;
    const queued_request t{now_ + slo, request_id{++s.arrived}};
    schedule_arrival(i);
    statistics_.arrived(i, now_);
    auto& q = queues_[i];
    const auto& p = q.parameters;
    const auto patience = slo - p.latency(q.last_batch_rows) - p.network(q.last_batch_rows);
    const auto bound = std::min(max_queued_rows, q.limiter.bound(now_, patience, q.last_batch_rows, p.slots));
    if (q.policy->queued_rows() + 1 > bound) {
      q.limiter.lost(now_, 1);
      lose(i, t);
    } else {
      q.policy->add(t, now_);
    }
    turn(i);
  }

  /// The end of a turn of the model's queue.
  void turn(uint32_t i) {
    auto& q = queues_[i];
    q.policy->update(now_, long_ago);
    const auto slots = q.policy->slots();
    const bool same_slots = std::equal(slots.begin(), slots.end(), q.sent_slots.begin(), q.sent_slots.end());
    if (const auto& w = q.policy->window(); w != q.sent_window || !same_slots) {
      q.sent_window = w;
      q.sent_slots.assign(slots.begin(), slots.end());
      if (holds_candidates_)
        held_.push_back(i);
      else
        send_candidate(i);
    }
    wakes_.set(i, q.policy->wake_at());
    dropped_.clear();
    q.policy->take_dropped(dropped_);
    for (const auto& d : dropped_) {
      q.limiter.lost(now_, d.request.rows);
      lose(i, d.request);
    }
  }

  void send_candidate(uint32_t i) {
    auto& q = queues_[i];
    const auto delay = std::max(q.parameters.network(q.sent_window.rows), q.policy->lead());
    q.standing_rows = q.sent_window.rows;
    arbiter_->set_candidate_on(model_id{i}, q.sent_window, delay, q.sent_slots);
    loads_.set(model_id{i}, q.policy->need(), now_);
  }

  void match_all() {
    do {
      while (arbiter_->wake_at() <= now_) {
        matches_.clear();
        arbiter_->poll(now_, matches_);
        backends_.clear();
        arbiter_->take_backends(backends_);
        for (const auto& b : backends_) {
          queues_[b.model.value].policy->set_backends(b.of, now_);
          turn(b.model.value);
        }
        for (const auto& g : matches_) grant(g);
      }
    } while (take_stopped());
  }

  /// Workers report preempted batches after the scheduler has processed its current events. All reports are
  /// taken at once, and the arbiter matches its slots before it receives new candidates from the queues.
  bool take_stopped() {
    if (stopped_.empty()) return false;
    const auto stopped = std::exchange(stopped_, {});
    for (const auto& s : stopped) {
      for (const auto& t : s.batch) queues_[s.model].policy->add(t, now_);
      arbiter_->set_free_at(slot_id{s.slot}, s.free_at);
      arbiter_->set_rows(slot_id{s.slot}, slots_[s.slot].rows);
    }
    holds_candidates_ = true;
    for (const auto& s : stopped) turn(s.model);
    holds_candidates_ = false;
    matches_.clear();
    if (arbiter_->wake_at() <= now_) arbiter_->poll(now_, matches_);
    for (const auto i : std::exchange(held_, {}))
      if (std::ranges::none_of(matches_, [&](const match& m) { return m.model == model_id{i}; }))
        send_candidate(i);  // a candidate that crosses the grant is void
    for (const auto& g : matches_) grant(g);
    return true;
  }

  void grant(const match& g) {
    const auto i = g.model.value;
    auto& q = queues_[i];
    auto& s = slots_[g.slot.value];
    const auto rows = q.standing_rows;
    const auto promised =
        std::max(q.policy->choose(g.slot, std::exchange(q.sent_window, never_told)).exec_at, g.free_at);
    q.policy->set_load(loads_.load(trial_.slots, now_));
    q.policy->update(now_, g.free_at);
    const auto w = q.policy->window();
    auto free_at = g.preempts ? s.ends : g.free_at;  // without a batch to run, the running one continues
    if (w.rows > 0) {
      taken_.clear();
      q.policy->take_batch(taken_);
      if (g.preempts) stop(g.slot.value);
      std::swap(s.batch, taken_);
      q.last_batch_rows = w.rows;
      q.limiter.served(now_, w.rows);
      const auto takes = q.parameters.latency(w.rows);
      free_at = w.exec_at + takes;
      s.model = i;
      s.rows = rows;
      s.granted = now_;
      s.from = std::max(now_, std::min(promised, w.exec_at));  // the plan of the grant does not move
      const auto until = s.from + takes;
      statistics_.started(i, g.slot.value, s.from, until, s.batch);
      if (watch_ != nullptr)
        watch_->on_batch({i, g.slot.value, w.rows, now_ - start, s.from - start, until - start});
      const auto before = std::exchange(s.ends, until);
      if (before > now_) {  // one runs, this one waits; there is never a third
        ends_.set(g.slot.value, before);
        free_at = never;
      } else if (until < free_at) {
        ends_.set(g.slot.value, until);  // the arbiter is notified then
      }
    }
    const bool stops = g.preempts && w.rows > 0;
    if (stops) stopped_.back().free_at = std::exchange(free_at, never);  // both hold it until the report
    arbiter_->occupy(g.model, g.slot, free_at);
    if (w.rows == 0 || stops) arbiter_->set_rows(g.slot, s.rows);
    turn(i);
  }

  /// The time of the preempted batch is wasted; those of its requests that can still meet their deadline are
  /// queued again.
  void stop(uint32_t which) {
    auto& s = slots_[which];
    statistics_.stopped(s.model, which, s.from, s.ends, now_, s.batch);
    if (watch_ != nullptr)
      watch_->on_stopped({s.model, which, static_cast<uint32_t>(s.batch.size()), s.granted - start,
                          s.from - start, now_ - start});
    s.ends = now_;
    ends_.erase(which);
    stopped_.push_back({s.model, which, {}, std::exchange(s.batch, {})});
  }

  void is_done(uint32_t s) {
    ends_.erase(s);
    arbiter_->set_free_at(slot_id{s}, slots_[s].ends);
  }

  void lose(uint32_t model, const queued_request& t) {
    const auto arrived = t.deadline - trial_.models[model].slo;
    if (watch_ != nullptr) watch_->on_loss({model, arrived - start, now_ - start});
  }

  static constexpr uint32_t max_queued_rows = 8192;  // default of `max_queued_rows` in the cluster file

  const trial& trial_;
  trial_watch* const watch_;
  trial_statistics statistics_;
  std::unique_ptr<matchmaking_policy> arbiter_;
  load_tracker loads_;
  std::vector<source> sources_;  // by model
  std::vector<queue> queues_;    // likewise
  std::vector<slot> slots_;
  tournament<time_point> arrivals_{never};  // by model
  tournament<time_point> wakes_{never};     // likewise
  tournament<time_point> ends_{never};      // by slot
  time_point now_ = start;
  std::vector<match> matches_;  // reused, like those below
  std::vector<queued_request> taken_;
  std::vector<model_backends> backends_;
  std::vector<dropped_queued_request> dropped_;
  std::vector<stopped_batch> stopped_;
  bool holds_candidates_ = false;
  std::vector<uint32_t> held_;  // models with deferred candidates
};

}  // namespace

trial_result run_direct(const trial& t, trial_watch* watch) { return direct_engine(t, watch).run(); }

}  // namespace troupe::lab
