// The pure policies in a bare event loop. It does with them what the actors do (model_queue, rank_arbiter,
// gpu_worker) when no message takes time, so that both make the same decisions.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "policies/admission.hpp"
#include "policies/arrivals.hpp"
#include "policies/batching.hpp"
#include "policies/load_book.hpp"
#include "policies/matchmaking.hpp"
#include "policies/squishy_packing.hpp"
#include "policies/tournament.hpp"
#include "tools/lab/trial.hpp"
#include "tools/lab/trial_books.hpp"

namespace troupe::lab {
namespace {

constexpr batch_window unknown{~0u, never, never};

class direct_engine {
 public:
  direct_engine(const trial& t, trial_watch* watch) : trial_(t), watch_(watch), books_(t) {
    arbiter_ = make_matchmaking(t.how.matchmaking);
    if (arbiter_ == nullptr) throw std::invalid_argument("unknown matchmaking '" + t.how.matchmaking + "'");
    slots_.resize(t.slots);
    for (uint32_t s = 0; s < t.slots; ++s) arbiter_->add_slot(slot_id{s}, start);
    double shares = 0;
    for (const auto& m : t.models) shares += m.share;
    for (uint32_t i = 0; i < t.models.size(); ++i) add_source(i, t.rate * t.models[i].share / shares);
    if (t.how.matchmaking == "nexus")
      add_packed_queues();
    else
      for (uint32_t i = 0; i < t.models.size(); ++i) add_queue(i, t.models[i].max_rows, t.slots, 1);
  }

  /// The next thing to happen, by (time, kind, id), until there is none.
  trial_result run() {
    while (true) {
      const auto arrival = arrivals_.best(), wake = wakes_.best(), end = ends_.best();
      const auto next = std::min({arrival, wake, end, arbiter_->wake_at()});
      if (next == never) return books_.close();
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

  /// Where the requests of a model come from, and the queues that they go to: one, or one a backend.
  struct source {
    arrival_process process;
    load_curve curve;
    uint64_t arrived = 0;
    std::vector<uint32_t> queues;
  };
  struct queue {
    uint32_t model;
    std::unique_ptr<batching_policy> policy;
    batching_parameters parameters;
    double weight;  ///< the share of the model's requests that it gets, in proportion
    double credit = 0;
    admission door;
    uint32_t last_batch_rows = 1;
    batch_window told{};
  };
  struct slot {
    time_point ends = long_ago;  ///< of all its orders: one that runs, and one that waits at most
    uint32_t queue = 0;          ///< of the last order, as below
    uint32_t rows = 0;           ///< as its candidate had
    time_point granted = long_ago, from = long_ago;
    std::vector<ticket> batch;
  };

  void add_source(uint32_t i, double rate) {
    const arrival_spec spec{trial_.arrivals, rate, trial_.gamma_cv};
    sources_.push_back({arrival_process(spec, start, random_stream(trial_.seed, "arrivals", i)),
                        load_curve(trial_.changes, i),
                        0,
                        {}});
    if (rate > 0) schedule_arrival(i);
  }

  void add_queue(uint32_t model, uint32_t max_rows, uint32_t slots, double weight) {
    const auto& m = trial_.models[model];
    batching_parameters p;
    p.latency = m.latency;
    p.network = trial_.network;
    p.slo = m.slo;
    p.response = trial_.response;
    p.max_rows = max_rows;
    p.slots = slots;
    auto policy = make_batching(trial_.how.batching, trial_.how.shedding, p);
    if (policy == nullptr)
      throw std::invalid_argument("unknown batching '" + trial_.how.batching + "' or shedding '" +
                                  trial_.how.shedding + "'");
    sources_[model].queues.push_back(static_cast<uint32_t>(queues_.size()));
    queues_.push_back({model, std::move(policy), p, weight, 0, {}, 1, {}});
  }

  /// A queue for every model on every slot that Nexus gives it.
  void add_packed_queues() {
    std::vector<packing_session> sessions;
    for (const auto& m : trial_.models) {
      const auto network = trial_.network(1);
      sessions.push_back({m.latency, m.slo - trial_.response - network, m.share});
    }
    const auto plan = squishy_packing(sessions, trial_.slots);
    for (uint32_t s = 0; s < plan.size(); ++s) {
      std::vector<model_id> here;
      for (const auto& p : plan[s]) {
        here.push_back(model_id{static_cast<uint32_t>(queues_.size())});
        add_queue(p.model, p.batch, 1, p.rate);
      }
      arbiter_->set_models(slot_id{s}, here);
    }
  }

  void schedule_arrival(uint32_t i) {
    auto& s = sources_[i];
    const auto at = s.curve.time_of(s.process.next() - start);
    arrivals_.set(i, at < trial_.length ? start + at : never);
  }

  /// Each queue in turn, as often as its weight says.
  uint32_t route(const std::vector<uint32_t>& among) {
    if (among.size() == 1) return among.front();
    double all = 0;
    uint32_t best = among.front();
    for (const auto q : among) {
      queues_[q].credit += queues_[q].weight;
      all += queues_[q].weight;
      if (queues_[q].credit > queues_[best].credit) best = q;
    }
    queues_[best].credit -= all;
    return best;
  }

  void arrive(uint32_t i) {
    auto& s = sources_[i];
    const auto& slo = trial_.models[i].slo;
    const ticket t{now_ + slo, request_id{++s.arrived}};
    schedule_arrival(i);
    books_.arrived(i, now_);
    if (s.queues.empty()) return lose(i, t);  // no backend has the model
    const auto to = route(s.queues);
    auto& q = queues_[to];
    const auto& p = q.parameters;
    const auto patience = slo - p.latency(q.last_batch_rows) - p.network(q.last_batch_rows);
    const auto bound = std::min(max_queued_rows, q.door.bound(now_, patience, q.last_batch_rows, p.slots));
    if (q.policy->queued_rows() + 1 > bound) {
      q.door.lost(now_, 1);
      lose(i, t);
    } else {
      q.policy->add(t, now_);
    }
    turn(to);
  }

  /// As a turn of the model's queue ends.
  void turn(uint32_t i) {
    auto& q = queues_[i];
    q.policy->update(now_, long_ago);
    if (const auto& w = q.policy->window(); w != q.told) {
      q.told = w;
      arbiter_->set_candidate(model_id{i}, w, std::max(q.parameters.network(w.rows), q.policy->lead()));
      loads_.set(model_id{i}, q.policy->need(), now_);
    }
    wakes_.set(i, q.policy->wake_at());
    dropped_.clear();
    q.policy->take_dropped(dropped_);
    for (const auto& d : dropped_) {
      q.door.lost(now_, d.request.rows);
      lose(q.model, d.request);
    }
  }

  void match_all() {
    while (arbiter_->wake_at() <= now_) {
      matches_.clear();
      arbiter_->poll(now_, matches_);
      for (const auto& g : matches_) grant(g);
    }
  }

  void grant(const match& g) {
    const auto i = g.model.value;
    auto& q = queues_[i];
    auto& s = slots_[g.slot.value];
    const auto rows = q.told.rows;
    const auto promised = std::max(std::exchange(q.told, unknown).exec_at, g.free_at);
    q.policy->set_load(loads_.load(trial_.slots, now_));
    q.policy->update(now_, g.free_at);
    const auto w = q.policy->window();
    auto free_at = g.preempts ? s.ends : g.free_at;  // what it runs goes on, if there is nothing to run
    if (w.rows > 0) {
      taken_.clear();
      q.policy->take_batch(taken_);
      if (g.preempts) preempt(g.slot.value);
      std::swap(s.batch, taken_);
      q.last_batch_rows = w.rows;
      q.door.served(now_, w.rows);
      const auto takes = q.parameters.latency(w.rows);
      free_at = w.exec_at + takes;
      s.queue = i;
      s.rows = rows;
      s.granted = now_;
      s.from = std::max(now_, std::min(promised, w.exec_at));  // the plan that was granted does not move
      const auto until = s.from + takes;
      books_.started(q.model, g.slot.value, s.from, until, s.batch);
      if (watch_ != nullptr)
        watch_->on_batch({q.model, g.slot.value, w.rows, now_ - start, s.from - start, until - start});
      const auto before = std::exchange(s.ends, until);
      if (before > now_) {  // one runs, this one waits; a third may not
        ends_.set(g.slot.value, before);
        free_at = never;
      } else if (until < free_at) {
        ends_.set(g.slot.value, until);  // the arbiter hears of it then
      }
    }
    arbiter_->occupy(g.model, g.slot, free_at);
    if (w.rows == 0) arbiter_->set_rows(g.slot, s.rows);
    turn(i);
  }

  /// What it ran was in vain; those of its requests that can still be in time are queued again.
  void preempt(uint32_t which) {
    auto& s = slots_[which];
    auto& q = queues_[s.queue];
    books_.stopped(q.model, which, s.from, s.ends, now_, s.batch);
    if (watch_ != nullptr)
      watch_->on_stopped({q.model, which, static_cast<uint32_t>(s.batch.size()), s.granted - start,
                          s.from - start, now_ - start});
    s.ends = now_;
    ends_.erase(which);
    for (const auto& t : s.batch) q.policy->add(t, now_);
    turn(s.queue);
  }

  void is_done(uint32_t s) {
    ends_.erase(s);
    arbiter_->set_free_at(slot_id{s}, slots_[s].ends);
  }

  void lose(uint32_t model, const ticket& t) {
    const auto arrived = t.deadline - trial_.models[model].slo;
    if (watch_ != nullptr) watch_->on_loss({model, arrived - start, now_ - start});
  }

  static constexpr uint32_t max_queued_rows = 8192;  // as `max_queued_rows` of the cluster file

  const trial& trial_;
  trial_watch* const watch_;
  trial_books books_;
  std::unique_ptr<matchmaking_policy> arbiter_;
  load_book loads_;
  std::vector<source> sources_;  // by model
  std::vector<queue> queues_;    // the policies know them as models
  std::vector<slot> slots_;
  tournament<time_point> arrivals_{never};  // by model
  tournament<time_point> wakes_{never};     // by queue
  tournament<time_point> ends_{never};      // by slot
  time_point now_ = start;
  std::vector<match> matches_;  // reused, as below
  std::vector<ticket> taken_;
  std::vector<dropped_ticket> dropped_;
};

}  // namespace

trial_result run_direct(const trial& t, trial_watch* watch) { return direct_engine(t, watch).run(); }

}  // namespace troupe::lab
