#include "transport/fabric/driven_fabric.hpp"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "transport/common/doorbell.hpp"
#include "transport/common/low_priority.hpp"
#include "transport/common/spin_budget.hpp"
#include "transport/fabric/fabric_counters.hpp"
#include "transport/fabric/work_queue.hpp"

namespace troupe {
namespace {

/// A job that another thread gives to the progress thread.
struct job {
  job* next = nullptr;
  virtual ~job() = default;
  /// `stopped`: the fabric has stopped, so the job can only report that.
  virtual void run(bool stopped) = 0;
};

template <class What>
struct job_of final : job {
  explicit job_of(What w) : what(std::move(w)) {}
  void run(bool stopped) override { what(stopped); }
  What what;
};

class driven_fabric final : public fabric {
 public:
  driven_fabric(std::unique_ptr<carrier> carrier, const fabric_options& options, const clock& clock)
      : spins_(options.spin),
        linger_(options.linger),
        max_queued_bytes_(options.max_queued_bytes),
        clock_(clock),
        carrier_(std::move(carrier)) {
    carrier_->set_post([this](std::function<void()> job) { post(std::move(job)); });
  }
  ~driven_fabric() override { stop(); }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    return carrier_->allocate(kind, bytes);
  }
  bool reaches(memory_kind kind) const override { return carrier_->reaches(kind); }
  std::string address() const override { return carrier_->address(); }

  void start(fabric_events& events) override {
    events_ = &events;
    carrier_->set_events(&events);
    thread_ = std::thread([this] { run(); });
  }
  void stop() override {
    stopping_.store(true);
    bell_.ring();
    if (thread_.joinable()) thread_.join();
    stopped_.store(true);
    cancel_queued();
  }

  void connect(node_id peer, incarnation_id incarnation, std::string address) override {
    post([this, peer, incarnation, address = std::move(address)] {
      carrier_->connect(peer, incarnation, address);
    });
  }
  void disconnect(node_id peer) override {
    post([this, peer] { carrier_->disconnect(peer); });
  }
  void renew() override;
  void send(node_id to, std::vector<std::byte> frame) override;
  void begin_pull(node_id from, pull_plan plan, pull_done done) override;
  void post(std::function<void()> job) override;

  fabric_stats stats() const override {
    auto s = carrier_->stats();
    s.discarded_out += discarded_unqueued_.load(std::memory_order_relaxed);
    s.sleeps = sleeps_.get();
    return s;
  }

 private:
  /// Pulls up to this size are done by the calling thread, which avoids a wake-up of the progress thread.
  /// Larger ones would delay others.
  static constexpr size_t small_pull = 64u << 10;
  /// Amount of progress after which frames are delivered and the clock is read: about a millisecond's.
  static constexpr unsigned much = 256;

  template <class What>
  void submit(What what);
  void wake();
  template <class Action>
  bool step_in(Action&& action);
  void cancel_queued();
  void run();
  unsigned turn();
  unsigned run_jobs();
  bool sleep(std::unique_lock<std::mutex>& mine);
  void shut_down();
  void fell_behind();

  spin_budget spins_;  ///< of the progress thread; its events are turns with work
  const duration linger_;
  const size_t max_queued_bytes_;
  const clock& clock_;
  const std::unique_ptr<carrier> carrier_;
  doorbell bell_;
  fabric_events* events_ = nullptr;
  time_point refused_since_ = never;  ///< since when the carrier refuses to be armed without any progress
  counter sleeps_;

  /// Its holder drives the carrier: the progress thread, except while it sleeps.
  std::mutex driver_;
  alignas(64) work_queue<job> queue_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false}, stopped_{false};
  alignas(64) std::atomic<size_t> queued_bytes_{0};
  std::atomic<bool> overrun_{false};  ///< frames were discarded: all connections will be broken
  std::atomic<uint64_t> discarded_unqueued_{0};
  std::thread thread_;
};

/// The fabric that this thread drives.
thread_local const fabric* driven_here = nullptr;

// ---- any thread ----

template <class What>
void driven_fabric::submit(What what) {
  queue_.push(new job_of(std::move(what)));
  wake();
  if (stopped_.load(std::memory_order_seq_cst)) cancel_queued();
}

/// Only the first of several wakes a sleeper: signalling is a system call.
void driven_fabric::wake() {
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false)) bell_.ring();
}

void driven_fabric::cancel_queued() {
  queue_.drain([](job* j) {
    const std::unique_ptr<job> owned(j);
    owned->run(true);
  });
}

/// Runs a small action on the calling thread while the progress thread sleeps, because waking it takes
/// longer. False if it is awake, or has work that must be done first, or if this thread might be kept from
/// running while others wait for it.
template <class Action>
bool driven_fabric::step_in(Action&& action) {
  if (!asleep_.load(std::memory_order_relaxed) || driven_here == this || has_low_priority) return false;
  const std::unique_lock mine(driver_, std::try_to_lock);
  if (!mine || !asleep_.load(std::memory_order_seq_cst) || !queue_.empty() || !events_) return false;
  const auto* before = std::exchange(driven_here, this);
  action();
  carrier_->flush();
  driven_here = before;
  if (carrier_->needs_turn() || !queue_.empty()) wake();
  return true;
}

void driven_fabric::send(node_id to, std::vector<std::byte> frame) {
  // Called from an event or a job: sent directly, unless queued jobs must stay ahead of it.
  if (driven_here == this && queue_.empty()) return carrier_->send(to, std::move(frame));
  if (step_in([&] { carrier_->send(to, std::move(frame)); })) return;
  const size_t cost = frame.size() + 64;  // plus the overhead of its job
  const bool full = queued_bytes_.fetch_add(cost, std::memory_order_relaxed) > max_queued_bytes_;
  if (full || overrun_.load(std::memory_order_relaxed)) {
    queued_bytes_.fetch_sub(cost, std::memory_order_relaxed);
    discarded_unqueued_.fetch_add(1, std::memory_order_relaxed);
    if (full && !overrun_.exchange(true)) submit([this](bool) { fell_behind(); });
    return;
  }
  submit([this, to, cost, frame = std::move(frame)](bool stopped) mutable {
    queued_bytes_.fetch_sub(cost, std::memory_order_relaxed);
    if (!stopped) carrier_->send(to, std::move(frame));
  });
}

void driven_fabric::begin_pull(node_id from, pull_plan plan, pull_done done) {
  const auto here = [&] {
    carrier_->begin_pull(from, std::move(plan), std::move(done));
    events_->on_turn_end();
  };
  if (!plan.bulk && plan.bytes() <= small_pull && step_in(here)) return;
  submit([this, from, plan = std::move(plan), done = std::move(done)](bool stopped) mutable {
    if (stopped) return done(pull_status::lost);
    carrier_->begin_pull(from, std::move(plan), std::move(done));
  });
}

void driven_fabric::renew() {
  if (driven_here == this || !thread_.joinable()) return carrier_->renew();
  std::promise<void> done;
  submit([this, &done](bool stopped) {
    try {
      if (!stopped) carrier_->renew();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

void driven_fabric::post(std::function<void()> what) {
  submit([what = std::move(what)](bool stopped) {
    if (!stopped) what();
  });
}

// ---- the progress thread ----

void driven_fabric::run() {
  pthread_setname_np(pthread_self(), "fabric");
  std::unique_lock mine(driver_);
  driven_here = this;
  time_point idle_since = clock_.now();
  bool idle = false;
  unsigned worked = 0, events = 0;  // since the clock was read
  for (unsigned turns = 1; !stopping_.load(std::memory_order_relaxed); ++turns) {
    const unsigned amount = turn();
    const bool did = amount != 0;
    if (did) idle = false;
    events += did;
    worked += amount;
    // The clock is read rarely, but at once before a sleep.
    if (turns % 16 != 0 && worked < much && (did || spins_.allowed() > 0ns)) continue;
    worked = 0;
    const time_point now = clock_.now();
    spins_.add(std::exchange(events, 0), now);
    if (now >= events_->tick_at()) {
      events_->on_tick(now);
      events_->on_turn_end();
    }
    if (did) continue;
    if (!std::exchange(idle, true)) idle_since = now;
    if (now - idle_since >= spins_.allowed()) {
      idle = !sleep(mine);
    } else if (now - idle_since >= 5us) {
      std::this_thread::yield();  // else the spinning thread starves others on its core
    }
  }
  shut_down();
}

/// Does all ready work; returns its amount.
unsigned driven_fabric::turn() {
  unsigned did = 0;
  for (int i = 0; i < 16 && did < much; ++i) {
    unsigned n = run_jobs();
    n += carrier_->progress();
    if (n == 0) break;
    did += n;
  }
  did += carrier_->close_broken();
  if (did != 0 && events_) {
    refused_since_ = never;
    events_->on_turn_end();
  }
  return did;
}

unsigned driven_fabric::run_jobs() {
  unsigned n = 0;
  queue_.drain([&](job* j) {
    const std::unique_ptr<job> owned(j);
    owned->run(false);
    if (++n % 16 == 0) carrier_->progress();  // else a burst of sends only piles up
  });
  return n;
}

/// Waits for events, jobs or the next tick. False if the carrier refused to report events, so that this was
/// only a pause.
bool driven_fabric::sleep(std::unique_lock<std::mutex>& mine) {
  bool armed = true;
  asleep_.store(true, std::memory_order_seq_cst);
  if (queue_.empty() && !stopping_.load()) {
    const time_point now = clock_.now();
    duration wait =
        std::clamp<duration>(events_->tick_at() == never ? 1s : events_->tick_at() - now, 0ns, 1s);
    if (carrier_->parting()) wait = std::min<duration>(wait, 1ms);
    armed = carrier_->arm();
    if (armed) {
      refused_since_ = never;
    } else if (refused_since_ == never) {
      refused_since_ = now;  // an event is ready
      wait = 0ns;
    } else if (now - refused_since_ < 2ms) {
      wait = 0ns;
    } else {  // no event was ready: UCX cannot be armed while sends wait for a suspended peer
      wait = std::min<duration>(wait, std::clamp<duration>((now - refused_since_) / 16, 500us, 1ms));
    }
    if (wait > 0ns) {
      // Dead peers are noticed, too: the keepalive timer of UCX is part of its descriptor.
      pollfd p[] = {{carrier_->event_fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}};
      // UCX takes a signal from its descriptor only when it can be armed. Until then a ready one may be old,
      // and would end every pause at once; a new event waits for the end of this one.
      if (!armed && ::poll(p, 1, 0) > 0) p[0] = {-1, 0, 0};
      const timespec t{wait / 1s, (wait % 1s).count()};
      mine.unlock();
      ::ppoll(p, 2, &t, nullptr);
      if (p[1].revents != 0) bell_.answer();
      mine.lock();
      sleeps_ += 1;
    }
  }
  asleep_.store(false, std::memory_order_relaxed);
  return armed;
}

void driven_fabric::shut_down() {
  turn();  // sends frames that were posted before
  events_ = nullptr;
  carrier_->set_events(nullptr);
  carrier_->leave_all();
  // A peer that answers takes well under the linger time. Others, such as one that is suspended, are given
  // up.
  const time_point give_up = clock_.now() + linger_ + 5s;
  while (carrier_->parting() && clock_.now() < give_up) {
    carrier_->progress();
    carrier_->close_broken();
  }
  carrier_->abandon();
}

void driven_fabric::fell_behind() {
  overrun_.store(false, std::memory_order_relaxed);
  carrier_->break_all("this process fell behind with sending");
}

}  // namespace

std::unique_ptr<fabric> make_driven_fabric(std::unique_ptr<carrier> carrier, const fabric_options& options,
                                           const clock& clock) {
  return std::make_unique<driven_fabric>(std::move(carrier), options, clock);
}

}  // namespace troupe
