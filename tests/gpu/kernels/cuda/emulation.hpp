// State of the threads in the emulator (emulator.hpp).
#pragma once
#include <boost/context/fiber.hpp>

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gpu/kernels/cuda/emulator.hpp"

namespace troupe::cuda {

namespace emulation {

using boost::context::fiber;

/// Counts the threads that have not ended.
struct barrier {
  const char* name;
  uint32_t members = 0, arrived = 0;
  uint64_t round = 0;  // a thread that arrived in one round waits for the next

  void leave() { --members, close(); }
  void close() {
    if (arrived > 0 && arrived == members) arrived = 0, ++round;
  }
};

/// Exchanged data of the lanes of a warp; double-buffered, so that a late lane still reads the last exchange.
struct warp_state {
  barrier all{"a warp"};
  struct lane_data {
    std::byte bytes[16];
    uint32_t a[4], b[2];
    const void* row;
  };
  lane_data shown[2][32];
};

struct copy {
  void* to;
  const void* from;
  bool exists;
};

struct fiber_state;
struct warpgroup_state {
  barrier all{"a warpgroup"};
  const fiber_state* threads[128] = {};
  bool holds[2][128] = {};  // double-buffered, as above
};

struct block_state {
  explicit block_state(size_t shared_bytes)
      : shared(shared_bytes + alignment, poison), unfenced(shared_bytes / 16 + 1) {}
  static constexpr std::byte poison{0xff};      // NaN in every type
  static constexpr uintptr_t alignment = 1024;  // as on a GPU
  std::byte* begin() {
    return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(shared.data()) + alignment - 1) &
                                        ~(alignment - 1));
  }

  barrier all{"a block"};
  std::vector<warp_state> warps;
  std::vector<warpgroup_state> warpgroups;
  std::vector<std::byte> shared;
  std::vector<bool> unfenced;  // 16 bytes each: written by a copy, not visible to products yet
  size_t bytes = 0;
  uint32_t x = 0, y = 0, z = 0;
};

struct cluster_state {
  barrier all{"a cluster"};
  std::deque<block_state> blocks;
  const emulated_launch* launch = nullptr;
  std::string broken;  // error that ends the run
};

struct fiber_state {
  uint32_t index = 0, rank = 0;
  cluster_state* cluster = nullptr;
  fiber self, scheduler;
  boost::context::stack_context stack;
  const barrier* waits_at = nullptr;
  uint64_t waits_for = 0;
  uint64_t cluster_round = 0;  // for cluster_wait
  uint32_t exchanges = 0, votes = 0;
  std::vector<copy> copies;  // since the last commit
  std::deque<std::vector<copy>> groups;
  std::vector<size_t> arrived;           // by its copies, in units of 16 bytes: not published yet
  std::vector<emulated_wgmma> products;  // since the last commit
  std::deque<std::vector<emulated_wgmma>> wgmma_groups;
  bool begun = false;  // wgmma_fence since the last commit
  bool ended = false;

  block_state& block() const { return cluster->blocks[rank]; }
  warp_state& warp() const { return block().warps[index / 32]; }
  warpgroup_state& warpgroup() {
    if (index / 128 >= block().warpgroups.size()) fail("a product of a warpgroup that is not whole");
    return block().warpgroups[index / 128];
  }
  bool ready() const { return !ended && (waits_at == nullptr || waits_at->round >= waits_for); }

  void pause() {
    if (!cluster->launch->waits)
      throw std::runtime_error("emulator: a thread waits in a kernel that says that none does");
    scheduler = std::move(scheduler).resume();
  }
  static uint64_t arrive(barrier& m) {
    const uint64_t round = m.round + 1;
    ++m.arrived;
    m.close();
    return round;
  }
  void wait(const barrier& m, uint64_t round) {
    waits_at = &m, waits_for = round;
    while (m.round < waits_for) pause();
    waits_at = nullptr;
  }
  void arrive_and_wait(barrier& m) { wait(m, arrive(m)); }
  [[noreturn]] void fail(const std::string& why) {
    if (!cluster->launch->waits) throw std::runtime_error("emulator: " + why);
    if (cluster->broken.empty()) cluster->broken = why;
    for (;;) pause();
  }
  void check_address(const void* p) {
    if (reinterpret_cast<uintptr_t>(p) % 16 != 0)
      fail("an address that is no multiple of 16 is read or written");
  }
  /// Shares `mine` with the warp and returns the values of all lanes.
  template <class F>
  const warp_state::lane_data* show(F mine) {
    warp_state::lane_data* all = warp().shown[exchanges++ % 2];
    mine(all[index % 32]);
    arrive_and_wait(warp().all);
    return all;
  }
};

}  // namespace emulation
}  // namespace troupe::cuda
