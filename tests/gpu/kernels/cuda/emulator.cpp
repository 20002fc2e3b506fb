#include "tests/gpu/kernels/cuda/emulator.hpp"

#include <sanitizer/asan_interface.h>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>

#include "tests/gpu/kernels/cuda/emulation.hpp"

namespace troupe::cuda {

namespace emulation {

namespace {

/// Stacks are reused. The address sanitizer's state of stacks that were left in the middle is stale, and it
/// cannot clean a stack that it does not know.
struct fiber_stacks {
  boost::context::stack_context& taken;

  boost::context::stack_context allocate() {
    taken = pool().allocate();
    forget(taken);
    return taken;
  }
  void deallocate(boost::context::stack_context& stack) { pool().deallocate(stack); }
  static void forget([[maybe_unused]] const boost::context::stack_context& stack) {
    ASAN_UNPOISON_MEMORY_REGION(static_cast<std::byte*>(stack.sp) - stack.size, stack.size);
  }

 private:
  static boost::context::pooled_fixedsize_stack& pool() {
    static thread_local boost::context::pooled_fixedsize_stack all(64 * 1024);
    return all;
  }
};

void run_cluster(cluster_state& cluster, std::mt19937& random) {
  const emulated_launch& launch = *cluster.launch;
  std::deque<fiber_state> fibers;
  std::vector<fiber_state*> order;
  for (uint32_t rank = 0; rank < launch.cluster; ++rank) {
    for (uint32_t i = 0; i < launch.threads; ++i) {
      fiber_state& f = fibers.emplace_back();
      f.index = i, f.rank = rank, f.cluster = &cluster;
      f.self = fiber(std::allocator_arg, fiber_stacks{f.stack}, [&f, &launch](fiber&& scheduler) {
        f.scheduler = std::move(scheduler);
        launch.body(emulated_thread(&f));
        f.ended = true;
        return std::move(f.scheduler);
      });
      order.push_back(&f);
    }
  }
  // Round-robin; or whole blocks, or warps, each as far as possible before the next one runs.
  const uint32_t way = random() % 4;
  const size_t group = way == 2 ? launch.threads : way == 3 ? 32 : order.size();
  std::vector<std::span<fiber_state*>> groups;
  for (size_t i = 0; i < order.size(); i += group) groups.emplace_back(order.data() + i, group);
  if (way == 1) std::reverse(order.begin(), order.end());
  size_t left = order.size();
  const auto give_up = [&](const std::string& why) {
    for (const fiber_state& f : fibers)
      if (!f.ended) fiber_stacks::forget(f.stack);  // they are unwound
    throw std::runtime_error("emulator: " + why);
  };
  const auto move = [&](std::span<fiber_state*> members) {
    bool moved = false;
    for (fiber_state* f : members) {
      if (!f->ready()) continue;
      moved = true;
      f->self = std::move(f->self).resume();
      if (!cluster.broken.empty()) give_up(cluster.broken);
      if (!f->ended) continue;
      --left;
      f->block().all.leave(), f->warp().all.leave(), cluster.all.leave();
      if (f->index / 128 < f->block().warpgroups.size()) f->warpgroup().all.leave();
      if (f->block().all.members == 0) std::ranges::fill(f->block().shared, block_state::poison);
    }
    return moved;
  };
  while (left > 0) {
    bool moved = false;
    std::shuffle(groups.begin(), groups.end(), random);
    for (const std::span<fiber_state*> members : groups) {
      if (way != 1) std::shuffle(members.begin(), members.end(), random);
      while (move(members)) moved = true;
    }
    if (moved) continue;
    std::set<std::string> places;
    for (const fiber_state* f : order)
      if (!f->ended) places.insert(f->waits_at->name);
    std::string all;
    for (const std::string& place : places) all += (all.empty() ? "" : ", ") + place;
    give_up("threads wait for ever for the others of " + all);
  }
}

/// Runs one cluster of threads that never wait: in any order, each to its end.
void run_alone(cluster_state& cluster, std::mt19937& random) {
  const emulated_launch& launch = *cluster.launch;
  std::vector<uint32_t> order(launch.threads * launch.cluster);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (const uint32_t i : order) {
    fiber_state thread;
    thread.index = i % launch.threads, thread.rank = i / launch.threads, thread.cluster = &cluster;
    launch.body(emulated_thread(&thread));
  }
}

}  // namespace
}  // namespace emulation

void emulate(const emulated_launch& launch, uint32_t seed) {
  if (launch.threads % 32 != 0 || launch.threads > 1024 || launch.threads == 0)
    throw std::runtime_error("emulator: a block has whole warps, at most 32");
  if (launch.grid.x % launch.cluster != 0) throw std::runtime_error("emulator: a grid has whole clusters");
  if (launch.cluster > 8) throw std::runtime_error("emulator: a cluster has at most 8 blocks");
  if (launch.shared_bytes > 227 * 1024)
    throw std::runtime_error("emulator: a block has at most 227 KiB of shared memory");
  std::mt19937 random(seed);
  std::vector<grid_size> first;  // first block of each cluster
  for (uint32_t z = 0; z < launch.grid.z; ++z)
    for (uint32_t y = 0; y < launch.grid.y; ++y)
      for (uint32_t x = 0; x < launch.grid.x; x += launch.cluster) first.push_back({x, y, z});
  std::shuffle(first.begin(), first.end(), random);
  for (const grid_size& at : first) {
    emulation::cluster_state cluster;
    cluster.launch = &launch;
    cluster.all.members = launch.threads * launch.cluster;
    for (uint32_t rank = 0; rank < launch.cluster; ++rank) {
      emulation::block_state& block = cluster.blocks.emplace_back(launch.shared_bytes);
      block.all.members = launch.threads, block.bytes = launch.shared_bytes;
      block.warps.resize(launch.threads / 32), block.warpgroups.resize(launch.threads / 128);
      for (emulation::warp_state& warp : block.warps) warp.all.members = 32;
      for (emulation::warpgroup_state& group : block.warpgroups) group.all.members = 128;
      block.x = at.x + rank, block.y = at.y, block.z = at.z;
    }
    launch.waits ? emulation::run_cluster(cluster, random) : emulation::run_alone(cluster, random);
  }
}

}  // namespace troupe::cuda
