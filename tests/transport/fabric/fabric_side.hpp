// This process's side of a fabric test; the other one is a fabric_child.
#pragma once
#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/transport/fabric/fabric_child.hpp"
#include "tests/transport/fabric/test_certificates.hpp"
#include "tests/transport/fabric/test_fabric.hpp"

namespace troupe::testing {

inline constexpr node_id here{0}, there{1};

/// Records the events of a fabric.
class recorder final : public fabric_events {
 public:
  struct loss {
    node_id peer;
    incarnation_id incarnation;
    std::string why;
  };

  void on_frame(std::span<const std::byte> bytes) override {
    std::lock_guard lock(mutex_);
    aligned_ = aligned_ && reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0;
    frames_.emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  void on_lost(node_id peer, incarnation_id incarnation, std::string why) override {
    std::lock_guard lock(mutex_);
    losses_.push_back({peer, incarnation, std::move(why)});
    changed_.notify_all();
  }
  void on_turn_end() override {}
  time_point tick_at() const override { return next_tick_; }
  void on_tick(time_point now) override {
    late_.push_back(now - next_tick_);
    next_tick_ = late_.size() < 20 ? now + 5ms : never;
  }

  bool wait_for_frames(size_t n, duration limit = 20s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return frames_.size() >= n; });
  }
  bool wait_for_losses(size_t n, duration limit = 20s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return losses_.size() >= n; });
  }
  std::vector<std::vector<std::byte>> frames() {
    std::lock_guard lock(mutex_);
    return frames_;
  }
  std::vector<loss> losses() {
    std::lock_guard lock(mutex_);
    return losses_;
  }
  bool aligned() {
    std::lock_guard lock(mutex_);
    return aligned_;
  }

  time_point next_tick_ = never;  // of the fabric's thread, once it runs
  std::vector<duration> late_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::byte>> frames_;
  std::vector<loss> losses_;
  bool aligned_ = true;
};

/// This process's side.
struct side {
  explicit side(const test_fabric_options& o = test_options(0, 1)) : carrier(make(o, clock)) {}
  ~side() { carrier->stop(); }
  void meet(fabric_child& child, uint64_t incarnation) {
    child.connect_to(0, 1, carrier->address());
    carrier->connect(there, incarnation_id{incarnation}, child.address());
    // Frames that arrive earlier are discarded, even if they were sent later.
    std::promise<void> connected;
    carrier->post([&] { connected.set_value(); });
    connected.get_future().wait();
  }
  pull_status pull(uint64_t offset, std::span<std::byte> into) {
    std::promise<pull_status> done;
    carrier->pull(there, offset, into, [&](pull_status s) { done.set_value(s); });
    return done.get_future().get();
  }

  static std::unique_ptr<fabric> make(const test_fabric_options& o, const machine_clock& time) {
    require_certificates();
    return make_test_fabric(o, time);
  }

  machine_clock clock;
  recorder events;
  std::unique_ptr<fabric> carrier;
};

inline std::vector<std::byte> bytes_of(uint64_t word, size_t size = 8) {
  std::vector<std::byte> out(size);
  std::memcpy(out.data(), &word, sizeof word);
  return out;
}

inline bool is_mixed(const std::vector<std::byte>& frame, uint64_t i) {
  if (frame.size() != mixed_size(i)) return false;
  for (size_t at = 0; at < frame.size(); ++at) {
    if (frame[at] != mixed_byte(i, at)) return false;
  }
  return true;
}

inline bool eventually(auto condition, duration limit = 20s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

inline duration cpu_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

inline int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4096;
}

/// Sanitizers delay the release of memory, and are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int sanitizer_factor = 3;
#else
inline constexpr int sanitizer_factor = 1;
#endif

}  // namespace troupe::testing
