#include "transport/fabric/ucx_fabric.hpp"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "transport/fabric/ucx/address.hpp"
#include "transport/fabric/ucx/doorbell.hpp"
#include "transport/fabric/ucx/neighbours.hpp"
#include "transport/fabric/ucx/workers.hpp"
#include "transport/fabric/work_queue.hpp"

namespace troupe {
namespace {

using namespace ucx;

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

class ucx_fabric final : public fabric {
 public:
  ucx_fabric(const ucx_options& options, const clock& clock)
      : options_(options), clock_(clock), context_(options.environment) {}
  ~ucx_fabric() override { stop(); }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    if (!reaches(kind)) throw std::runtime_error("UCX here registers host memory only");
    if (pool_) throw std::runtime_error("the fabric has its pool already");
    pool_ = std::make_unique<region>(context_, bytes);
    peers_.set_pool(pool_->bytes());
    return {pool_->bytes(), kind};
  }
  bool reaches(memory_kind kind) const override { return kind == memory_kind::host; }

  void start(fabric_events& events) override {
    events_ = &events;
    peers_.set_events(&events);
    thread_ = std::thread([this] { run(); });
  }
  void stop() override {
    stopping_.store(true);
    bell_.ring();
    if (thread_.joinable()) thread_.join();
    stopped_.store(true);
    cancel_queued();
  }

  void renew() override;
  std::string address() const override {
    ucx_address a{options_.self, options_.incarnation, options_.secret, 0, 0, workers_.address(), {}};
    if (pool_) {
      a.pool_base = reinterpret_cast<uint64_t>(pool_->bytes().data());
      a.pool_bytes = pool_->bytes().size();
      a.pool_key = pool_->packed_key();
    }
    return encode(a);
  }

  void connect(node_id peer, incarnation_id incarnation, std::string address) override {
    post([this, peer, incarnation, address = std::move(address)] {
      peers_.connect(peer, incarnation, address);
    });
  }
  void disconnect(node_id peer) override {
    post([this, peer] { peers_.disconnect(peer); });
  }
  void send(node_id to, std::vector<std::byte> frame) override;
  void pull(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done) override;
  void post(std::function<void()> job) override;

  fabric_stats stats() const override {
    const auto& h = peers_.shared();
    return {h.frames_out.get(),
            h.bytes_out.get(),
            peers_.frames_in(),
            peers_.bytes_in(),
            h.discarded_out.get() + discarded_unqueued_.load(std::memory_order_relaxed),
            peers_.discarded_in(),
            h.pulls.get(),
            h.bytes_pulled.get(),
            sleeps_.get()};
  }

 private:
  /// Pulls up to this size are done by the calling thread, which avoids a wake-up of the progress thread.
  /// Larger ones would delay others.
  static constexpr size_t small_pull = 64u << 10;

  template <class What>
  void submit(What what);
  void wake();
  template <class Action>
  bool step_in(Action&& action);
  void cancel_queued();
  void run();
  unsigned turn();
  unsigned run_jobs();
  void close_broken();
  bool sleep(std::unique_lock<std::mutex>& mine);
  void shut_down();
  void begin_anew();
  void fell_behind();

  static ucs_status_t on_message(void* self, const void* head, size_t head_bytes, void* data, size_t bytes,
                                 const ucp_am_recv_param_t* p) noexcept {
    return static_cast<ucx_fabric*>(self)->peers_.on_message(head, head_bytes, data, bytes, p);
  }

  const ucx_options options_;
  const clock& clock_;
  context context_;
  std::unique_ptr<region> pool_;
  workers workers_{context_, &on_message, this};
  neighbours peers_{workers_.get(), options_, clock_};
  doorbell bell_;
  fabric_events* events_ = nullptr;
  time_point refused_since_ = never;  ///< since when UCX refuses to be armed although no progress was made
  counter sleeps_;

  /// Its holder drives the worker and all its objects: the progress thread, except while it sleeps.
  std::mutex driver_;
  alignas(64) work_queue<job> queue_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false}, stopped_{false};
  alignas(64) std::atomic<size_t> queued_bytes_{0};
  std::atomic<bool> overrun_{false};  ///< frames were discarded: all connections will be broken
  std::atomic<uint64_t> discarded_unqueued_{0};
  std::thread thread_;
};

/// The fabric whose worker this thread drives.
thread_local const fabric* driven_here = nullptr;

// ---- any thread ----

template <class What>
void ucx_fabric::submit(What what) {
  queue_.push(new job_of(std::move(what)));
  wake();
  if (stopped_.load(std::memory_order_seq_cst)) cancel_queued();
}

/// Only the first of several wakes a sleeper: signalling is a system call.
void ucx_fabric::wake() {
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false)) bell_.ring();
}

void ucx_fabric::cancel_queued() {
  queue_.drain([](job* j) {
    const std::unique_ptr<job> owned(j);
    owned->run(true);
  });
}

/// Runs a small action on the calling thread while the progress thread sleeps, because waking it takes
/// longer. False if it is awake, or has work that must be done first.
template <class Action>
bool ucx_fabric::step_in(Action&& action) {
  if (!asleep_.load(std::memory_order_relaxed) || driven_here == this) return false;
  const std::unique_lock mine(driver_, std::try_to_lock);
  if (!mine || !asleep_.load(std::memory_order_seq_cst) || !queue_.empty() || !events_) return false;
  const auto* before = std::exchange(driven_here, this);
  action();
  driven_here = before;
  if (peers_.busy() || peers_.shared().attention || !queue_.empty()) wake();
  return true;
}

void ucx_fabric::send(node_id to, std::vector<std::byte> frame) {
  // Called from an event or a job: sent directly, unless queued jobs must stay ahead of it.
  if (driven_here == this && queue_.empty()) return peers_.send(to, std::move(frame));
  if (step_in([&] { peers_.send(to, std::move(frame)); })) return;
  const size_t cost = frame.size() + 64;  // plus the overhead of its job
  const bool full = queued_bytes_.fetch_add(cost, std::memory_order_relaxed) > options_.max_queued_bytes;
  if (full || overrun_.load(std::memory_order_relaxed)) {
    queued_bytes_.fetch_sub(cost, std::memory_order_relaxed);
    discarded_unqueued_.fetch_add(1, std::memory_order_relaxed);
    if (full && !overrun_.exchange(true)) submit([this](bool) { fell_behind(); });
    return;
  }
  submit([this, to, cost, frame = std::move(frame)](bool stopped) mutable {
    queued_bytes_.fetch_sub(cost, std::memory_order_relaxed);
    if (!stopped) peers_.send(to, std::move(frame));
  });
}

void ucx_fabric::pull(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done) {
  const auto here = [&] {
    peers_.pull(from, offset, into, std::move(done));
    events_->on_turn_end();
  };
  if (into.size() <= small_pull && step_in(here)) return;
  submit([this, from, offset, into, done = std::move(done)](bool stopped) mutable {
    if (stopped) return done(pull_status::lost);
    peers_.pull(from, offset, into, std::move(done));
  });
}

void ucx_fabric::renew() {
  if (driven_here == this || !thread_.joinable()) return begin_anew();
  std::promise<void> done;
  submit([this, &done](bool stopped) {
    try {
      if (!stopped) begin_anew();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

void ucx_fabric::post(std::function<void()> what) {
  submit([what = std::move(what)](bool stopped) {
    if (!stopped) what();
  });
}

// ---- the progress thread ----

void ucx_fabric::run() {
  pthread_setname_np(pthread_self(), "fabric");
  std::unique_lock mine(driver_);
  driven_here = this;
  time_point idle_since = clock_.now();
  bool idle = false;
  for (unsigned turns = 1; !stopping_.load(std::memory_order_relaxed); ++turns) {
    const bool did = turn() != 0;
    if (did) idle = false;
    if (turns % 16 != 0) continue;  // the clock is read rarely
    const time_point now = clock_.now();
    if (now >= events_->tick_at()) {
      events_->on_tick(now);
      events_->on_turn_end();
    }
    if (did) continue;
    if (!std::exchange(idle, true)) idle_since = now;
    if (now - idle_since >= options_.spin) {
      idle = !sleep(mine);
    } else if (now - idle_since >= 5us) {
      std::this_thread::yield();  // else the spinning thread starves others on its core
    }
  }
  shut_down();
}

/// Does all ready work; returns its amount.
unsigned ucx_fabric::turn() {
  unsigned did = 0;
  for (int i = 0; i < 16; ++i) {
    unsigned n = run_jobs();
    n += workers_.progress();
    if (n == 0) break;
    did += n;
  }
  close_broken();
  if (did != 0 && events_) {
    refused_since_ = never;
    events_->on_turn_end();
  }
  return did;
}

void ucx_fabric::close_broken() {
  peers_.close_broken();
  if (workers_.former() > 0)
    workers_.destroy_expired(clock_.now(), [&](ucp_worker_h w) { return peers_.parting(w); });
}

unsigned ucx_fabric::run_jobs() {
  unsigned n = 0;
  queue_.drain([&](job* j) {
    const std::unique_ptr<job> owned(j);
    owned->run(false);
    if (++n % 16 == 0) workers_.progress();  // else a burst of sends only piles up
  });
  return n;
}

/// Waits for events, jobs or the next tick. False if UCX refused to report events, so that this was only a
/// pause.
bool ucx_fabric::sleep(std::unique_lock<std::mutex>& mine) {
  bool armed = true;
  asleep_.store(true, std::memory_order_seq_cst);
  if (queue_.empty() && !stopping_.load()) {
    const time_point now = clock_.now();
    duration wait =
        std::clamp<duration>(events_->tick_at() == never ? 1s : events_->tick_at() - now, 0ns, 1s);
    if (peers_.parting()) wait = std::min<duration>(wait, 1ms);
    armed = workers_.arm();
    if (armed) {
      refused_since_ = never;
    } else if (refused_since_ == never) {
      refused_since_ = now;  // an event is ready
      wait = 0ns;
    } else if (now - refused_since_ < 2ms) {
      wait = 0ns;
    } else {  // no event was ready: UCX cannot be armed while sends wait for a suspended peer
      wait = std::min<duration>(wait, 500us);
    }
    if (wait > 0ns) {
      // Dead peers are noticed, too: UCX's keepalive timer is part of the descriptor.
      pollfd p[] = {{workers_.event_fd(), POLLIN, 0}, {bell_.fd(), POLLIN, 0}};
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

void ucx_fabric::shut_down() {
  turn();  // sends frames that were posted before
  events_ = nullptr;
  peers_.set_events(nullptr);
  peers_.leave_all();
  // A peer that answers takes well under the linger time; UCX cancels the rest when the link is closed.
  const time_point give_up = clock_.now() + options_.linger + 5s;
  while (peers_.parting() && clock_.now() < give_up) {
    workers_.progress();
    close_broken();
  }
  peers_.abandon();
}

void ucx_fabric::begin_anew() {
  workers_.renew(clock_.now());
  peers_.renew(workers_.get());
}

void ucx_fabric::fell_behind() {
  overrun_.store(false, std::memory_order_relaxed);
  peers_.break_all("this process fell behind with sending");
}

}  // namespace

std::unique_ptr<fabric> make_ucx_fabric(const ucx_options& options, const clock& clock) {
  return std::make_unique<ucx_fabric>(options, clock);
}

}  // namespace troupe
