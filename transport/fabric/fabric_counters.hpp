// Counters of a fabric, which its progress thread increments and any thread reads.
#pragma once
#include <atomic>
#include <cstdint>

#include "transport/fabric/fabric.hpp"

namespace troupe {

/// Counter that one thread increments and any thread reads.
class counter {
 public:
  void operator+=(uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct fabric_counters {
  counter frames_out, bytes_out, frames_in, bytes_in, discarded_out, discarded_in, pulls, bytes_pulled;

  /// A pull that ended with `ok`.
  void add_pull(const pull_plan& plan) {
    pulls += 1;
    bytes_pulled += plan.bytes();
  }
  fabric_stats read() const {
    fabric_stats s;
    s.frames_out = frames_out.get();
    s.bytes_out = bytes_out.get();
    s.frames_in = frames_in.get();
    s.bytes_in = bytes_in.get();
    s.discarded_out = discarded_out.get();
    s.discarded_in = discarded_in.get();
    s.pulls = pulls.get();
    s.bytes_pulled = bytes_pulled.get();
    return s;
  }
};

}  // namespace troupe
