#include "transport/ucx_fabric.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "transport/fence.hpp"
#include "transport/ucx/handles.hpp"
#include "transport/ucx/inbox.hpp"
#include "transport/ucx/link.hpp"
#include "transport/ucx/wire.hpp"
#include "transport/ucx_address.hpp"
#include "transport/work_queue.hpp"

namespace troupe {
namespace {

using namespace ucx;

class ucx_fabric;

/// What other threads want of the progress thread.
struct job {
  job* next = nullptr;
  virtual ~job() = default;
  virtual void run(ucx_fabric& fabric) = 0;
  virtual void cancel() {}  ///< instead of `run`, when the fabric has been stopped
};

class ucx_fabric final : public fabric {
 public:
  ucx_fabric(const ucx_options& options, const clock& clock)
      : options_(options), clock_(clock), context_(options.environment), worker_(context_) {
    worker_.on_message(&on_message, this);
    worker_address_ = worker_.address();
  }
  ~ucx_fabric() override { stop(); }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    if (!reaches(kind)) throw std::runtime_error("UCX here registers host memory only");
    if (pool_) throw std::runtime_error("the fabric has its pool already");
    pool_ = std::make_unique<region>(context_, bytes);
    house_.pool = pool_->bytes();
    return {house_.pool, kind};
  }
  bool reaches(memory_kind kind) const override { return kind == memory_kind::host; }

  void start(fabric_events& events) override {
    events_ = &events;
    thread_ = std::thread([this] { run(); });
  }
  void stop() override {
    stopping_.store(true);
    worker_.signal();
    if (thread_.joinable()) thread_.join();
    stopped_.store(true);
    cancel_queued();
  }

  std::string address() const override {
    ucx_address a{options_.self, options_.life, 0, 0, worker_address_, {}};
    if (pool_) {
      a.pool_base = reinterpret_cast<uint64_t>(house_.pool.data());
      a.pool_bytes = house_.pool.size();
      a.pool_key = pool_->packed_key();
    }
    return encode(a);
  }

  void connect(node_id peer, incarnation life, std::string address) override {
    post([this, peer, life, address = std::move(address)] { connect_now(peer, life, address); });
  }
  void disconnect(node_id peer) override {
    post([this, peer] { disconnect_now(peer); });
  }
  void send(node_id to, std::vector<std::byte> frame) override;
  void pull(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done) override;
  void post(std::function<void()> job) override;

  fabric_stats stats() const override {
    return {house_.frames_out.get(),
            house_.bytes_out.get(),
            frames_in_.get(),
            bytes_in_.get(),
            house_.discarded_out.get() + discarded_unqueued_.load(std::memory_order_relaxed),
            discarded_in_.get(),
            house_.pulls.get(),
            house_.bytes_pulled.get(),
            sleeps_.get()};
  }

  // On the progress thread.
  void unqueued(size_t frame_bytes);
  void break_all(const char* why);
  void send_now(node_id to, std::vector<std::byte> frame);
  void pull_now(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done);

 private:
  struct waiting_pull {
    incarnation life;
    uint64_t ticket;
    pull_range range;
  };
  struct neighbour {
    inbox in;
    std::unique_ptr<link> out;          ///< null while not connected
    std::vector<waiting_pull> waiting;  ///< pulls of a peer that is not connected yet
  };
  struct leaving_link {
    std::unique_ptr<link> out;
    time_point until;  ///< when what has not left by then is given up
    bool closed = false;
  };
  static constexpr size_t max_waiting = 4096;

  void submit(job* j);
  void cancel_queued();
  void run();
  unsigned turn();
  unsigned run_jobs();
  bool sleep();
  void shut_down();
  void connect_now(node_id node, incarnation life, const std::string& address);
  void disconnect_now(node_id node);
  void leave(std::unique_ptr<link> out);
  void lose_broken();
  void reap();

  static ucs_status_t on_message(void* self, const void* head, size_t head_bytes, void* data, size_t bytes,
                                 const ucp_am_recv_param_t* p) noexcept;
  ucs_status_t on_message(const message_head& head, void* data, size_t bytes, bool rendezvous);
  void on_frame(neighbour& from, const message_head& head, std::span<const std::byte> bytes);

  const ucx_options options_;
  const clock& clock_;
  context context_;
  worker worker_;
  std::unique_ptr<region> pool_;
  std::string worker_address_;
  link_house house_{.worker = worker_.get(), .options = options_};
  std::unordered_map<node_id, neighbour> peers_;
  std::vector<leaving_link> leaving_;
  uint32_t next_stream_ = 1;
  std::vector<std::byte> aligned_;  ///< where a misaligned frame is copied to
  fabric_events* events_ = nullptr;
  time_point refused_since_ = never;  ///< UCX would not be armed although it did nothing
  counter frames_in_, bytes_in_, discarded_in_, sleeps_;

  alignas(64) work_queue<job> queue_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false}, stopped_{false};
  alignas(64) std::atomic<size_t> queued_bytes_{0};
  std::atomic<bool> overrun_{false};  ///< frames were discarded: all connections will break
  std::atomic<uint64_t> discarded_unqueued_{0};
  std::thread thread_;
};

struct send_job final : job {
  send_job(node_id n, std::vector<std::byte> f) : to(n), frame(std::move(f)) {}
  void run(ucx_fabric& fabric) override {
    fabric.unqueued(frame.size());
    fabric.send_now(to, std::move(frame));
  }
  node_id to;
  std::vector<std::byte> frame;
};

struct break_job final : job {
  void run(ucx_fabric& fabric) override { fabric.break_all("this process fell behind with sending"); }
};

struct pull_job final : job {
  pull_job(node_id n, uint64_t o, std::span<std::byte> i, pull_done d)
      : from(n), offset(o), into(i), done(std::move(d)) {}
  void run(ucx_fabric& fabric) override { fabric.pull_now(from, offset, into, std::move(done)); }
  void cancel() override { done(pull_status::lost); }
  node_id from;
  uint64_t offset;
  std::span<std::byte> into;
  pull_done done;
};

struct posted_job final : job {
  explicit posted_job(std::function<void()> f) : what(std::move(f)) {}
  void run(ucx_fabric&) override { what(); }
  std::function<void()> what;
};

/// The fabric whose progress thread this is.
thread_local const fabric* running_here = nullptr;

// ---- any thread ----

void ucx_fabric::submit(job* j) {
  queue_.push(j);
  // Only the first of several wakes a sleeper: signalling is a system call.
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false)) worker_.signal();
  if (stopped_.load(std::memory_order_seq_cst)) cancel_queued();
}

void ucx_fabric::cancel_queued() {
  queue_.drain([](job* j) {
    j->cancel();
    delete j;
  });
}

void ucx_fabric::send(node_id to, std::vector<std::byte> frame) {
  // From an event or a job: no detour, unless something waits that must stay ahead of it.
  if (running_here == this && queue_.empty()) return send_now(to, std::move(frame));
  const size_t cost = frame.size() + sizeof(send_job);
  const bool full = queued_bytes_.fetch_add(cost, std::memory_order_relaxed) > options_.max_queued_bytes;
  if (full || overrun_.load(std::memory_order_relaxed)) {
    unqueued(frame.size());
    discarded_unqueued_.fetch_add(1, std::memory_order_relaxed);
    if (full && !overrun_.exchange(true)) submit(new break_job);
    return;
  }
  submit(new send_job(to, std::move(frame)));
}

void ucx_fabric::pull(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done) {
  submit(new pull_job(from, offset, into, std::move(done)));
}

void ucx_fabric::post(std::function<void()> what) { submit(new posted_job(std::move(what))); }

// ---- the progress thread ----

void ucx_fabric::run() {
  pthread_setname_np(pthread_self(), "fabric");
  running_here = this;
  time_point idle_since = clock_.now();
  bool idle = false;
  for (unsigned turns = 1; !stopping_.load(std::memory_order_relaxed); ++turns) {
    const bool did = turn() != 0;
    if (did) idle = false;
    if (turns % 16 != 0) continue;  // the clock is looked at rarely
    const time_point now = clock_.now();
    if (now >= events_->tick_at()) {
      events_->on_tick(now);
      events_->on_turn_end();
    }
    if (did) continue;
    if (!std::exchange(idle, true)) idle_since = now;
    if (now - idle_since >= options_.spin) {
      idle = !sleep();
    } else if (now - idle_since >= 5us) {
      std::this_thread::yield();  // or a spinner starves whoever shares its core
    }
  }
  shut_down();
}

/// Does what is ready; returns how much that was.
unsigned ucx_fabric::turn() {
  unsigned did = 0;
  for (int i = 0; i < 16; ++i) {
    unsigned n = run_jobs();
    n += worker_.progress();
    if (n == 0) break;
    did += n;
  }
  if (house_.attention) lose_broken();
  if (!leaving_.empty()) reap();
  if (did != 0 && events_) {
    refused_since_ = never;
    events_->on_turn_end();
  }
  return did;
}

unsigned ucx_fabric::run_jobs() {
  unsigned n = 0;
  queue_.drain([&](job* j) {
    const std::unique_ptr<job> owned(j);
    owned->run(*this);
    if (++n % 16 == 0) worker_.progress();  // or a burst of sends only piles up
  });
  return n;
}

/// Waits for events, jobs or the next tick. False if UCX refused to report events, so that this was a mere
/// pause.
bool ucx_fabric::sleep() {
  bool armed = true;
  asleep_.store(true, std::memory_order_seq_cst);
  if (queue_.empty() && !stopping_.load()) {
    const time_point now = clock_.now();
    duration wait =
        std::clamp<duration>(events_->tick_at() == never ? 1s : events_->tick_at() - now, 0ns, 1s);
    if (!leaving_.empty()) wait = std::min<duration>(wait, 1ms);
    armed = worker_.arm();
    if (armed) {
      refused_since_ = never;
    } else if (refused_since_ == never) {
      refused_since_ = now;  // something is ready
      wait = 0ns;
    } else if (now - refused_since_ < 2ms) {
      wait = 0ns;
    } else {  // nothing was: UCX cannot be armed while sends wait for a peer that has stopped
      wait = std::min<duration>(wait, 500us);
    }
    if (wait > 0ns) {
      // Dead peers are noticed, too: UCX's keepalive timer is part of the descriptor.
      pollfd p{worker_.event_fd(), POLLIN, 0};
      const timespec t{wait / 1s, (wait % 1s).count()};
      ::ppoll(&p, 1, &t, nullptr);
      sleeps_ += 1;
    }
  }
  asleep_.store(false, std::memory_order_relaxed);
  return armed;
}

void ucx_fabric::shut_down() {
  turn();  // sends what was posted before
  events_ = nullptr;
  for (auto& [node, p] : peers_) {
    if (p.out) leave(std::move(p.out));
  }
  // A peer that answers takes well under the linger time; UCX cancels the rest when the link is closed.
  const time_point give_up = clock_.now() + options_.linger + 5s;
  while (!leaving_.empty() && clock_.now() < give_up) {
    worker_.progress();
    reap();
  }
  for (auto& l : leaving_) static_cast<void>(l.out.release());  // UCX might still call back
}

void ucx_fabric::connect_now(node_id node, incarnation life, const std::string& address) {
  auto& p = peers_[node];
  if (p.out) leave(std::move(p.out));
  ucx_address at;
  std::string problem = decode(address, at);
  if (problem.empty() && at.node != node)
    problem = fmt::format("its address is that of node {}", at.node.value);
  if (problem.empty()) {
    try {
      p.out = std::make_unique<link>(house_, node, life, next_stream_++, at);
    } catch (const std::runtime_error& e) {
      problem = e.what();
    }
  }
  if (!problem.empty()) return events_->on_lost(node, life, problem);
  p.in.open(at.life);
  for (const auto& w : std::exchange(p.waiting, {})) {
    if (w.life == at.life) p.out->answer(w.ticket, w.range);
  }
}

void ucx_fabric::disconnect_now(node_id node) {
  const auto found = peers_.find(node);
  if (found == peers_.end() || !found->second.out) return;
  found->second.in.close(found->second.out->fabric_life());
  leave(std::move(found->second.out));
}

void ucx_fabric::leave(std::unique_ptr<link> out) {
  out->drain();
  leaving_.push_back({std::move(out), clock_.now() + options_.linger});
}

void ucx_fabric::lose_broken() {
  house_.attention = false;
  for (auto& [node, p] : peers_) {
    if (!p.out || p.out->broken().empty()) continue;
    auto out = std::move(p.out);
    const incarnation life = out->life();
    std::string why = out->broken();
    p.in.close(out->fabric_life());
    out->close();
    leaving_.push_back({std::move(out), never, true});
    if (events_) events_->on_lost(node, life, std::move(why));
  }
}

void ucx_fabric::reap() {
  for (auto& l : leaving_) {
    if (l.closed || (!l.out->drained() && l.out->broken().empty() && clock_.now() < l.until)) continue;
    l.out->close();
    l.closed = true;
  }
  std::erase_if(leaving_, [](const leaving_link& l) { return l.out->idle(); });
}

void ucx_fabric::unqueued(size_t frame_bytes) {
  queued_bytes_.fetch_sub(frame_bytes + sizeof(send_job), std::memory_order_relaxed);
}

void ucx_fabric::break_all(const char* why) {
  overrun_.store(false, std::memory_order_relaxed);
  for (auto& [node, p] : peers_)
    if (p.out) p.out->break_off(why);
}

void ucx_fabric::send_now(node_id to, std::vector<std::byte> frame) {
  const auto found = peers_.find(to);
  if (found == peers_.end() || !found->second.out) {
    house_.discarded_out += 1;
  } else {
    found->second.out->send(std::move(frame));
  }
}

void ucx_fabric::pull_now(node_id from, uint64_t offset, std::span<std::byte> into, pull_done done) {
  if (from == options_.self) {
    const auto pool = house_.pool;
    if (offset > pool.size() || into.size() > pool.size() - offset) return done(pull_status::refused);
    std::memcpy(into.data(), pool.data() + offset, into.size());
    read_fence();
    const size_t ends = std::min<size_t>(end_bytes, into.size());
    std::memcpy(into.data(), pool.data() + offset, ends);
    const size_t tail = into.size() - ends;
    std::memcpy(into.data() + tail, pool.data() + offset + tail, ends);
    house_.pulls += 1;
    house_.bytes_pulled += into.size();
    return done(pull_status::ok);
  }
  const auto found = peers_.find(from);
  if (found == peers_.end() || !found->second.out) return done(pull_status::lost);
  found->second.out->pull(offset, into, std::move(done));
}

// ---- inside UCX, on the progress thread ----

ucs_status_t ucx_fabric::on_message(void* self, const void* head, size_t head_bytes, void* data, size_t bytes,
                                    const ucp_am_recv_param_t* p) noexcept {
  message_head h;
  if (head_bytes != sizeof h) return UCS_OK;
  std::memcpy(&h, head, sizeof h);
  const bool rendezvous = (p->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  return static_cast<ucx_fabric*>(self)->on_message(h, data, bytes, rendezvous);
}

ucs_status_t ucx_fabric::on_message(const message_head& head, void* data, size_t bytes, bool rendezvous) {
  const bool for_us = head.to == 0 || head.to == options_.life.value;
  const incarnation life{head.life};
  neighbour& from = peers_[node_id{head.from}];
  if (!for_us || !events_ || !from.in.accepts(life)) {
    discarded_in_ += 1;
    return UCS_OK;
  }
  const bool connected = from.out && from.out->fabric_life() == life;
  switch (head.kind) {
    case message_kind::frame:
      if (!rendezvous) on_frame(from, head, {static_cast<const std::byte*>(data), bytes});
      return UCS_OK;
    case message_kind::pull_request: {
      pull_range range;
      if (rendezvous || bytes != sizeof range) return UCS_OK;
      std::memcpy(&range, data, sizeof range);
      if (connected) {
        from.out->answer(head.number, range);
      } else if (from.waiting.size() < max_waiting) {
        from.waiting.push_back({life, head.number, range});
      }
      return UCS_OK;
    }
    case message_kind::pull_middle:
    case message_kind::pull_ends:
    case message_kind::pull_refused:
      return connected ? from.out->on_part(head.kind, head.number, data, bytes, rendezvous) : UCS_OK;
  }
  return UCS_OK;
}

void ucx_fabric::on_frame(neighbour& from, const message_head& head, std::span<const std::byte> bytes) {
  const incarnation life{head.life};
  switch (from.in.judge(life, head.stream, head.number)) {
    case inbox::verdict::discard: discarded_in_ += 1; return;
    case inbox::verdict::gap:
      discarded_in_ += 1;
      from.in.close(life);
      if (from.out && from.out->fabric_life() == life) from.out->break_off("frames from it are missing");
      return;
    case inbox::verdict::deliver: break;
  }
  frames_in_ += 1;
  bytes_in_ += bytes.size();
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) {
    aligned_.assign(bytes.begin(), bytes.end());
    bytes = aligned_;
  }
  events_->on_frame(bytes);
}

}  // namespace

std::unique_ptr<fabric> make_ucx_fabric(const ucx_options& options, const clock& clock) {
  return std::make_unique<ucx_fabric>(options, clock);
}

}  // namespace troupe
