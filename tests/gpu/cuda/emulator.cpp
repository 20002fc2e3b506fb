#include "tests/gpu/cuda/emulator.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>

namespace troupe::cuda {

namespace emulation {

using boost::context::fiber;

/// What threads wait at: all that have not ended.
struct meeting {
  const char* name;
  uint32_t members = 0, arrived = 0;
  uint64_t round = 0;  // a thread that came in one round waits for the next

  void leave() { --members, close(); }
  void close() {
    if (arrived > 0 && arrived == members) arrived = 0, ++round;
  }
};

/// What the lanes of a warp show each other; twice, so that who is late still finds the exchange before.
struct warp_state {
  meeting all{"a warp"};
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

struct block_state {
  explicit block_state(size_t shared_bytes) : shared(shared_bytes + 128, poison) {}
  static constexpr std::byte poison{0xff};  // NaN in every type
  /// As aligned as on a GPU.
  std::byte* begin() {
    return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(shared.data()) + 127) & ~uintptr_t{127});
  }

  meeting all{"a block"};
  std::vector<warp_state> warps;
  std::vector<std::byte> shared;
  size_t bytes = 0;
  uint32_t x = 0, y = 0, z = 0;
};

struct cluster_state {
  meeting all{"a cluster"};
  std::deque<block_state> blocks;
  const emulated_launch* launch = nullptr;
  std::string broken;  // why the run cannot go on
};

struct fiber_state {
  uint32_t index = 0, rank = 0;
  cluster_state* cluster = nullptr;
  fiber self, scheduler;
  const meeting* waits_at = nullptr;
  uint64_t waits_for = 0;
  uint64_t cluster_round = 0;  // what wait_cluster waits for
  uint32_t exchanges = 0;
  std::vector<copy> copies;  // since the last commit
  std::deque<std::vector<copy>> groups;
  bool ended = false;

  block_state& block() const { return cluster->blocks[rank]; }
  warp_state& warp() const { return block().warps[index / 32]; }
  bool ready() const { return !ended && (waits_at == nullptr || waits_at->round >= waits_for); }

  void pause() {
    if (!cluster->launch->waits)
      throw std::runtime_error("emulator: a thread waits in a kernel that says that none does");
    scheduler = std::move(scheduler).resume();
  }
  static uint64_t arrive(meeting& m) {
    const uint64_t round = m.round + 1;
    ++m.arrived;
    m.close();
    return round;
  }
  void wait(const meeting& m, uint64_t round) {
    waits_at = &m, waits_for = round;
    while (m.round < waits_for) pause();
    waits_at = nullptr;
  }
  void meet(meeting& m) { wait(m, arrive(m)); }
  [[noreturn]] void fail(const std::string& why) {
    if (!cluster->launch->waits) throw std::runtime_error("emulator: " + why);
    if (cluster->broken.empty()) cluster->broken = why;
    for (;;) pause();
  }
  void check_address(const void* p) {
    if (reinterpret_cast<uintptr_t>(p) % 16 != 0)
      fail("an address that is no multiple of 16 is read or written");
  }
  /// Shows `mine` to the warp and gives what all showed.
  template <class F>
  const warp_state::lane_data* show(F mine) {
    warp_state::lane_data* all = warp().shown[exchanges++ % 2];
    mine(all[index % 32]);
    meet(warp().all);
    return all;
  }
};

namespace {

void run_cluster(cluster_state& cluster, std::mt19937& random) {
  const emulated_launch& launch = *cluster.launch;
  static thread_local boost::context::pooled_fixedsize_stack stacks(64 * 1024);
  std::deque<fiber_state> fibers;
  std::vector<fiber_state*> order;
  for (uint32_t rank = 0; rank < launch.cluster; ++rank) {
    for (uint32_t i = 0; i < launch.threads; ++i) {
      fiber_state& f = fibers.emplace_back();
      f.index = i, f.rank = rank, f.cluster = &cluster;
      f.self = fiber(std::allocator_arg, stacks, [&f, &launch](fiber&& scheduler) {
        f.scheduler = std::move(scheduler);
        launch.body(emulated_thread(&f));
        f.ended = true;
        return std::move(f.scheduler);
      });
      order.push_back(&f);
    }
  }
  // All in turn; or whole blocks, or warps, each as far as it gets before the next one moves at all.
  const uint32_t way = random() % 4;
  const size_t group = way == 2 ? launch.threads : way == 3 ? 32 : order.size();
  std::vector<std::span<fiber_state*>> groups;
  for (size_t i = 0; i < order.size(); i += group) groups.emplace_back(order.data() + i, group);
  if (way == 1) std::reverse(order.begin(), order.end());
  size_t left = order.size();
  const auto move = [&](std::span<fiber_state*> members) {
    bool moved = false;
    for (fiber_state* f : members) {
      if (!f->ready()) continue;
      moved = true;
      f->self = std::move(f->self).resume();
      if (!cluster.broken.empty()) throw std::runtime_error("emulator: " + cluster.broken);
      if (!f->ended) continue;
      --left;
      f->block().all.leave(), f->warp().all.leave(), cluster.all.leave();
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
    throw std::runtime_error("emulator: threads wait for ever for the others of " + all);
  }
}

/// One cluster of threads that never wait: in any order, each to its end.
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
  std::vector<grid_size> first;  // blocks of all clusters
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
      block.warps.resize(launch.threads / 32);
      for (emulation::warp_state& warp : block.warps) warp.all.members = 32;
      block.x = at.x + rank, block.y = at.y, block.z = at.z;
    }
    launch.waits ? emulation::run_cluster(cluster, random) : emulation::run_alone(cluster, random);
  }
}

uint32_t emulated_thread::index() const { return state_->index; }
uint32_t emulated_thread::block() const { return state_->block().x; }
uint32_t emulated_thread::block_y() const { return state_->block().y; }
uint32_t emulated_thread::block_z() const { return state_->block().z; }
uint32_t emulated_thread::blocks() const { return state_->cluster->launch->grid.x; }
uint32_t emulated_thread::cluster_rank() const { return state_->rank; }

std::byte* emulated_thread::shared_memory(size_t offset, size_t alignment) const {
  if (offset % alignment != 0) state_->fail("shared memory at an offset that its type does not allow");
  if (offset > state_->block().bytes) state_->fail("shared memory beyond what the kernel asked for");
  return state_->block().begin() + offset;
}

const void* emulated_thread::other_block(const void* mine, uint32_t rank) const {
  if (rank >= state_->cluster->blocks.size()) state_->fail("a block that the cluster does not have");
  const auto offset = static_cast<const std::byte*>(mine) - state_->block().begin();
  return state_->cluster->blocks[rank].begin() + offset;
}

void emulated_thread::sync() const { state_->meet(state_->block().all); }
void emulated_thread::sync_warp() const { state_->meet(state_->warp().all); }
void emulated_thread::sync_cluster() const { state_->meet(state_->cluster->all); }
void emulated_thread::arrive_cluster() const {
  state_->cluster_round = emulation::fiber_state::arrive(state_->cluster->all);
}
void emulated_thread::wait_cluster() const { state_->wait(state_->cluster->all, state_->cluster_round); }

const std::byte* emulated_thread::exchange(const std::byte (&mine)[16], uint32_t from) const {
  return state_->show([&](auto& shown) { std::memcpy(shown.bytes, mine, 16); })[from % 32].bytes;
}

vec16 emulated_thread::load(const void* from) const {
  state_->check_address(from);
  vec16 v;
  std::memcpy(&v, from, 16);
  return v;
}

void emulated_thread::store(void* to, const vec16& v) const {
  state_->check_address(to);
  std::memcpy(to, &v, 16);
}

void emulated_thread::prefetch(const void* from, uint32_t bytes) const {
  state_->check_address(from);
  if (bytes % 16 != 0) state_->fail("a prefetch of no multiple of 16 bytes");
  // read, so that a sanitizer sees what lies outside
  const auto* first = static_cast<const volatile unsigned char*>(from);
  if (bytes > 0) static_cast<void>(first[0] + first[bytes - 1]);
}

void emulated_thread::copy_async(void* to_shared, const void* from, bool exists) const {
  state_->check_address(to_shared), state_->check_address(from);
  const std::byte* begin = state_->block().begin();
  if (to_shared < begin || static_cast<std::byte*>(to_shared) + 16 > begin + state_->block().bytes)
    state_->fail("a copy to outside of the shared memory");
  std::memset(to_shared, 0xff, 16);
  state_->copies.push_back({to_shared, from, exists});
}

void emulated_thread::commit_copies() const {
  state_->groups.push_back(std::move(state_->copies));
  state_->copies.clear();
}

void emulated_thread::wait_copies(size_t pending) const {
  for (; state_->groups.size() > pending; state_->groups.pop_front()) {
    for (const emulation::copy& c : state_->groups.front()) {
      if (c.exists) std::memcpy(c.to, c.from, 16);
      if (!c.exists) std::memset(c.to, 0, 16);
    }
  }
}

float emulated_thread::exp2(float x) const { return std::exp2(x); }
float emulated_thread::log2(float x) const { return std::log2(x); }
void emulated_thread::sine_cosine(float angle, float& sine, float& cosine) const {
  sine = std::sin(angle), cosine = std::cos(angle);
}
float emulated_thread::reciprocal_root(float x) const { return 1 / std::sqrt(x); }

void emulated_thread::load_matrices(uint32_t (&m)[4], const void* row) const {
  state_->check_address(row);
  const auto* all = state_->show([&](auto& shown) { shown.row = row; });
  for (uint32_t i = 0; i < 4; ++i)
    m[i] = static_cast<const uint32_t*>(all[8 * i + lane() / 4].row)[lane() % 4];
  sync_warp();  // the rows are read before anybody goes on
}

void emulated_thread::load_transposed(uint32_t (&m)[4], const void* row) const {
  state_->check_address(row);
  const auto* all = state_->show([&](auto& shown) { shown.row = row; });
  for (uint32_t i = 0; i < 4; ++i) {
    const auto at = [&](uint32_t r) {
      return uint32_t{static_cast<const uint16_t*>(all[8 * i + r].row)[lane() / 4]};
    };
    m[i] = at(lane() % 4 * 2) | at(lane() % 4 * 2 + 1) << 16;
  }
  sync_warp();
}

void emulated_thread::multiply_add(element type, float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1) const {
  const auto* all = state_->show([&](auto& shown) {
    std::copy_n(a, 4, shown.a);
    shown.b[0] = b0, shown.b[1] = b1;
  });
  const uint32_t g = lane() / 4, q = lane() % 4;
  for (uint32_t k = 0; k < 16; ++k) {
    const uint32_t word = k / 8, from = k % 8 / 2;
    const float low = element_at(&all[g * 4 + from].a[word * 2], type, k % 2),
                high = element_at(&all[g * 4 + from].a[word * 2 + 1], type, k % 2);
    for (uint32_t i = 0; i < 2; ++i) {
      const float b = element_at(&all[(2 * q + i) * 4 + from].b[word], type, k % 2);
      d[i] += low * b, d[2 + i] += high * b;
    }
  }
}

}  // namespace troupe::cuda
