#include "transport/fabric/inproc_fabric.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "transport/fabric/arenas.hpp"

namespace troupe {
namespace {

/// Registered memory of a process: page-aligned, zeroed.
struct inproc_memory {
  inproc_memory() = default;
  ~inproc_memory() {
    for (auto* p : blocks) ::operator delete[](p, std::align_val_t{4096});
  }
  inproc_memory(const inproc_memory&) = delete;
  inproc_memory& operator=(const inproc_memory&) = delete;
  registered_memory add(size_t bytes, memory_kind kind) {
    blocks.push_back(new (std::align_val_t{4096}) std::byte[bytes]());
    return all.add({blocks.back(), bytes}, kind);
  }
  arenas all;
  std::vector<std::byte*> blocks;
};

/// The thread of a fabric, with the jobs that others posted to it. Others may hold it longer than the fabric
/// lives.
struct inproc_thread {
  std::mutex mutex;
  std::condition_variable ready;
  std::deque<std::function<void()>> jobs;
  bool stopped = false;

  /// False once it has stopped; the job is then dropped.
  bool post(std::function<void()> job) {
    std::lock_guard lock(mutex);
    if (stopped) return false;
    jobs.push_back(std::move(job));
    ready.notify_one();
    return true;
  }
};

}  // namespace

class inproc_fabric;

class inproc_network {
 public:
  std::mutex mutex;
  std::map<std::string, inproc_fabric*> fabrics;  ///< running ones by address
};

class inproc_fabric final : public fabric {
 public:
  inproc_fabric(std::shared_ptr<inproc_network> network, node_id self, incarnation_id incarnation,
                const clock& clock)
      : network_(std::move(network)), self_(self), incarnation_(incarnation), clock_(clock) {
    std::lock_guard lock(network_->mutex);
    network_->fabrics[address()] = this;
  }
  ~inproc_fabric() override { stop(); }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    if (!reaches(kind)) throw std::runtime_error("the in-process fabric registers host memory only");
    return memory_->add(bytes, kind);
  }
  bool reaches(memory_kind kind) const override { return kind == memory_kind::host; }

  void start(fabric_events& events) override {
    events_ = &events;
    thread_ = std::thread([this] { run(); });
  }

  void stop() override {
    {
      std::lock_guard lock(network_->mutex);
      if (network_->fabrics.erase(address()) == 0) return;
      for (auto& named : network_->fabrics) {
        auto* other = named.second;
        other->inbox_->post(
            [other, peer = self_, incarnation = incarnation_] { other->lose(peer, incarnation); });
      }
    }
    {
      std::lock_guard lock(inbox_->mutex);
      inbox_->stopped = true;
    }
    inbox_->ready.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  std::string address() const override {
    return fmt::format("inproc:{}:{}", self_.value, incarnation_.value);
  }

  void connect(node_id peer, incarnation_id incarnation, std::string address) override {
    inbox_->post([this, peer, incarnation, address = std::move(address)] {
      std::unique_lock lock(network_->mutex);
      const auto found = network_->fabrics.find(address);
      if (found == network_->fabrics.end()) {
        lock.unlock();
        peers_.erase(peer);
        return events_->on_lost(peer, incarnation,
                                fmt::format("no node listens at the address \"{}\"", address));
      }
      peers_[peer] = {incarnation, found->second, found->second->inbox_, found->second->memory_};
    });
  }
  void disconnect(node_id peer) override {
    inbox_->post([this, peer] { peers_.erase(peer); });
  }
  void renew() override {
    inbox_->post([this] { peers_.clear(); });
  }

  void send(node_id to, std::vector<std::byte> frame) override {
    inbox_->post([this, to, frame = std::move(frame)]() mutable {
      const auto found = peers_.find(to);
      const size_t bytes = frame.size();
      // The thread runs its jobs before it ends, so `fabric` is alive when the job runs.
      if (found == peers_.end() ||
          !found->second.inbox->post([other = found->second.fabric, frame = std::move(frame)] {
            ++other->frames_in_;
            other->bytes_in_ += frame.size();
            other->events_->on_frame(frame);
          })) {
        ++discarded_out_;
        return;
      }
      ++frames_out_;
      bytes_out_ += bytes;
    });
  }

  void begin_pull(node_id from, pull_plan plan, pull_done done) override {
    auto shared_done = std::make_shared<pull_done>(std::move(done));
    const bool posted = inbox_->post([this, from, plan = std::move(plan), shared_done] {
      const auto found = peers_.find(from);
      if (from != self_ && found == peers_.end()) return (*shared_done)(pull_status::lost);
      const auto& memory = from == self_ ? memory_ : found->second.memory;
      const auto how = memory->all.pull(plan);
      if (how == pull_status::ok) {
        ++pulls_;
        bytes_pulled_ += plan.bytes();
      }
      (*shared_done)(how);
    });
    if (!posted) (*shared_done)(pull_status::lost);
  }

  void post(std::function<void()> job) override { inbox_->post(std::move(job)); }

  fabric_stats stats() const override {
    return {frames_out_, bytes_out_, frames_in_,    bytes_in_, discarded_out_,
            0,           pulls_,     bytes_pulled_, sleeps_};
  }

 private:
  struct neighbour {
    incarnation_id incarnation;
    inproc_fabric* fabric;
    std::shared_ptr<inproc_thread> inbox;
    std::shared_ptr<inproc_memory> memory;
  };

  void lose(node_id node, incarnation_id incarnation) {
    const auto found = peers_.find(node);
    if (found == peers_.end() || found->second.incarnation != incarnation) return;
    peers_.erase(found);
    events_->on_lost(node, incarnation, "its fabric has stopped");
  }

  void run() {
    std::unique_lock lock(inbox_->mutex);
    while (true) {
      std::deque<std::function<void()>> jobs;
      jobs.swap(inbox_->jobs);
      const bool last = inbox_->stopped;
      lock.unlock();
      for (auto& job : jobs) job();
      const time_point now = clock_.now();
      const bool due = now >= events_->tick_at();
      if (due) events_->on_tick(now);
      if (due || !jobs.empty()) events_->on_turn_end();
      const duration wait =
          std::clamp<duration>(events_->tick_at() == never ? 1s : events_->tick_at() - clock_.now(), 0ns, 1s);
      lock.lock();
      if (last) return;
      const auto woken = [this] { return inbox_->stopped || !inbox_->jobs.empty(); };
      if (woken()) continue;
      ++sleeps_;
      inbox_->ready.wait_for(lock, wait, woken);
    }
  }

  const std::shared_ptr<inproc_network> network_;
  const node_id self_;
  const incarnation_id incarnation_;
  const clock& clock_;
  const std::shared_ptr<inproc_thread> inbox_ = std::make_shared<inproc_thread>();
  const std::shared_ptr<inproc_memory> memory_ = std::make_shared<inproc_memory>();
  fabric_events* events_ = nullptr;
  std::map<node_id, neighbour> peers_;
  std::atomic<uint64_t> frames_out_{0}, bytes_out_{0}, frames_in_{0}, bytes_in_{0}, discarded_out_{0};
  std::atomic<uint64_t> pulls_{0}, bytes_pulled_{0}, sleeps_{0};
  std::thread thread_;
};

std::shared_ptr<inproc_network> make_inproc_network() { return std::make_shared<inproc_network>(); }

std::unique_ptr<fabric> make_inproc_fabric(std::shared_ptr<inproc_network> network, node_id self,
                                           incarnation_id incarnation, const clock& clock) {
  return std::make_unique<inproc_fabric>(std::move(network), self, incarnation, clock);
}

}  // namespace troupe
