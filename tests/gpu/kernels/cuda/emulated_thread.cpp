#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/gpu/kernels/cuda/emulation.hpp"

namespace troupe::cuda {

uint32_t emulated_thread::index() const { return state_->index; }
uint32_t emulated_thread::block() const { return state_->block().x; }
uint32_t emulated_thread::block_y() const { return state_->block().y; }
uint32_t emulated_thread::block_z() const { return state_->block().z; }
uint32_t emulated_thread::blocks() const { return state_->cluster->launch->grid.x; }
uint32_t emulated_thread::block_rank_in_cluster() const { return state_->rank; }

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

void emulated_thread::sync() const { state_->arrive_and_wait(state_->block().all); }
void emulated_thread::sync_warp() const { state_->arrive_and_wait(state_->warp().all); }
void emulated_thread::cluster_sync() const { state_->arrive_and_wait(state_->cluster->all); }
void emulated_thread::cluster_arrive() const {
  state_->cluster_round = emulation::fiber_state::arrive(state_->cluster->all);
}
void emulated_thread::cluster_wait() const { state_->wait(state_->cluster->all, state_->cluster_round); }

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

void emulated_thread::prefetch_l2(const void* from, uint32_t bytes) const {
  state_->check_address(from);
  if (bytes % 16 != 0) state_->fail("a prefetch of no multiple of 16 bytes");
  // reads all bytes, so that a sanitizer detects out-of-bounds access
  const auto* first = static_cast<const volatile unsigned char*>(from);
  if (bytes > 0) static_cast<void>(first[0] + first[bytes - 1]);
}

void emulated_thread::cp_async(void* to_shared, const void* from, bool exists) const {
  state_->check_address(to_shared), state_->check_address(from);
  const std::byte* begin = state_->block().begin();
  if (to_shared < begin || static_cast<std::byte*>(to_shared) + 16 > begin + state_->block().bytes)
    state_->fail("a copy to outside of the shared memory");
  std::memset(to_shared, 0xff, 16);
  state_->copies.push_back({to_shared, from, exists});
}

void emulated_thread::cp_async_commit_group() const {
  state_->groups.push_back(std::move(state_->copies));
  state_->copies.clear();
}

void emulated_thread::cp_async_wait_group(size_t pending) const {
  emulation::block_state& block = state_->block();
  for (; state_->groups.size() > pending; state_->groups.pop_front()) {
    for (const emulation::copy& c : state_->groups.front()) {
      if (c.exists) std::memcpy(c.to, c.from, 16);
      if (!c.exists) std::memset(c.to, 0, 16);
      state_->arrived.push_back(static_cast<size_t>(static_cast<std::byte*>(c.to) - block.begin()) / 16);
      block.unfenced[state_->arrived.back()] = true;
    }
  }
}

float emulated_thread::exp2(float x) const { return std::exp2(x); }
float emulated_thread::log2(float x) const { return std::log2(x); }
void emulated_thread::sincos(float angle, float& sine, float& cosine) const {
  sine = std::sin(angle), cosine = std::cos(angle);
}
float emulated_thread::rsqrt(float x) const { return 1 / std::sqrt(x); }

void emulated_thread::ldmatrix(uint32_t (&m)[4], const void* row) const {
  state_->check_address(row);
  const auto* all = state_->show([&](auto& shown) { shown.row = row; });
  for (uint32_t i = 0; i < 4; ++i)
    m[i] = static_cast<const uint32_t*>(all[8 * i + lane() / 4].row)[lane() % 4];
  sync_warp();  // all lanes read the rows before any continues
}

void emulated_thread::ldmatrix_trans(uint32_t (&m)[4], const void* row) const {
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

void emulated_thread::mma(element type, float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
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

void emulated_thread::fence_proxy_async() const {
  for (const size_t which : state_->arrived) state_->block().unfenced[which] = false;
  state_->arrived.clear();
}

void emulated_thread::wgmma_fence() const {
  state_->begun = true;
  state_->arrive_and_wait(state_->warpgroup().all);
}

bool emulated_thread::warpgroup_any(bool holds) const {
  emulation::warpgroup_state& group = state_->warpgroup();
  auto& shown = group.holds[state_->votes++ % 2];
  shown[index() % 128] = holds;
  state_->arrive_and_wait(group.all);
  return std::ranges::find(shown, true) != std::end(shown);
}

void emulated_thread::wgmma_mma_async(const emulated_wgmma& p) const {
  if (!state_->begun) state_->fail("a wgmma before wgmma_fence");
  const auto gives_d = [&](const emulated_wgmma& earlier) { return earlier.d == p.d; };
  bool chained = std::ranges::any_of(state_->products, gives_d);
  for (const auto& group : state_->wgmma_groups) chained |= std::ranges::any_of(group, gives_d);
  state_->products.push_back(p);
  if (chained) return;
  const size_t n = size_t{p.blocks} * 4;
  state_->products.back().before.assign(p.d[0], p.d[0] + n);
  std::memset(p.d, 0xff, n * sizeof(float));  // undefined until it is waited for
}

void emulated_thread::wgmma_commit_group() const {
  state_->wgmma_groups.push_back(std::move(state_->products));
  state_->products.clear();
  state_->begun = false;
}

void emulated_thread::wgmma_wait_group(size_t pending) const {
  emulation::warpgroup_state& group = state_->warpgroup();
  group.threads[index() % 128] = state_;
  state_->arrive_and_wait(group.all);  // the others' operands must not change until all are done
  size_t ended = 0;
  for (; state_->wgmma_groups.size() > pending + ended; ++ended)
    for (size_t i = 0; i < state_->wgmma_groups[ended].size(); ++i) multiply(ended, i);
  state_->arrive_and_wait(group.all);
  state_->wgmma_groups.erase(state_->wgmma_groups.begin(),
                             state_->wgmma_groups.begin() + static_cast<std::ptrdiff_t>(ended));
}

/// This thread's part of one product.
void emulated_thread::multiply(size_t group, size_t which) const {
  const emulated_wgmma& p = state_->wgmma_groups[group][which];
  if (!p.before.empty()) std::copy(p.before.begin(), p.before.end(), p.d[0]);
  const emulation::fiber_state* const* quad = state_->warpgroup().threads + index() % 128 / 4 * 4;
  float a[2][16];  // rows g and g + 8
  for (uint32_t k = 0; k < 16; ++k) {
    const auto& theirs = quad[k % 8 / 2]->wgmma_groups;
    if (group >= theirs.size() || which >= theirs[group].size())
      state_->fail("a product that not all of the warpgroup have started");
    for (uint32_t half = 0; half < 2; ++half)
      a[half][k] = element_at(&theirs[group][which].a[k / 8 * 2 + half], p.type, k % 2);
  }
  for (uint32_t block = 0; block < p.blocks; ++block) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t column = block * 8 + index() % 4 * 2 + i % 2;
      float sum = p.add ? p.d[block][i] : 0;
      for (uint32_t k = 0; k < 16; ++k)
        sum += a[i / 2][k] * (p.transposed ? number_at(p, k, column) : number_at(p, column, k));
      p.d[block][i] = sum;
    }
  }
}

/// The number of the second operand's matrix at this row and column in the hardware's layout: the plain
/// matrix with bits 4 to 6 of the address XORed with bits 7 to 9.
float emulated_thread::number_at(const emulated_wgmma& p, uint32_t row, uint32_t column) const {
  emulation::block_state& block = state_->block();
  const auto start = static_cast<size_t>(static_cast<const std::byte*>(p.b.start) - block.begin());
  const size_t plain = start + p.offset + column / 64 * p.b.panel + row * 128 + column % 64 * 2;
  const size_t at = plain ^ (plain / 128 % 8 * 16);
  if (at + 2 > block.bytes) state_->fail("a product of what lies outside of the shared memory");
  if (block.unfenced[at / 16]) state_->fail("a wgmma reads a copy without fence_proxy_async");
  return element_at(block.begin() + at, p.type, 0);
}

}  // namespace troupe::cuda
