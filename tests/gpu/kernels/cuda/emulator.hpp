// Runs the kernels of gpu/kernels/cuda/ without a GPU, to test their results and their synchronization.
//
// Each thread is a fiber. Between two synchronization points the fibers run one by one, in an order drawn
// from a seed: a missing synchronization gives a wrong result in some order. Shared memory is NaN at the
// start of a block and again after its end. Data of cp_async is NaN until cp_async_wait_group. Products of
// warpgroups read their operands in wgmma_wait_group; their results are NaN until then. Blocks and clusters
// run in a drawn order, one cluster at a time. A deadlock ends the run with an exception.
//
// A kernel with `never_syncs` runs without fibers, its threads one after the other in a drawn order.
//
// Not modelled: caches, bank conflicts, and interleavings within a stretch between two synchronization
// points.
#pragma once
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

namespace emulation {
struct fiber_state;
struct cluster_state;
}  // namespace emulation

/// The second operand of a warpgroup's products.
struct emulated_smem_descriptor {
  const void* start;
  uint32_t panel;
};

/// A product of a warpgroup, as started by one of its threads. Reads and writes happen when it is waited for.
struct emulated_wgmma {
  element type;
  bool transposed, add;
  float (*d)[4];
  uint32_t blocks;  ///< of d
  const uint32_t* a;
  emulated_smem_descriptor b;
  uint32_t offset;
  std::vector<float> before = {};  ///< d before the product, unless an earlier product writes it
};

/// The members of cuda_thread, with their meaning (cuda_thread.cuh).
class emulated_thread {
 public:
  explicit emulated_thread(emulation::fiber_state* state) : state_(state) {}

  uint32_t index() const;
  uint32_t lane() const { return index() % 32; }
  uint32_t warp() const { return index() / 32; }
  uint32_t block() const;
  uint32_t block_y() const;
  uint32_t block_z() const;
  uint32_t blocks() const;
  uint32_t block_rank_in_cluster() const;

  template <class T>
  T* shared(size_t offset = 0) const {
    return reinterpret_cast<T*>(shared_memory(offset, alignof(T)));
  }
  template <class T>
  const T* map_shared_rank(const T* mine, uint32_t rank) const {
    return static_cast<const T*>(other_block(mine, rank));
  }

  void sync() const;
  void sync_warp() const;
  void cluster_sync() const;
  void cluster_arrive() const;
  void cluster_arrive_relaxed() const { cluster_arrive(); }
  void cluster_wait() const;
  uint32_t atomic_add_release(uint32_t* counter, uint32_t n) const { return (*counter += n) - n; }
  void fence_acq_rel() const {}
  void atomic_add_shared(uint32_t* sum, uint32_t n) const { *sum += n; }
  void atomic_add_shared(uint64_t* sum, uint64_t n) const { *sum += n; }
  void grid_dependency_sync() const {}
  void launch_dependents() const {}

  template <class T>
  T shuffle_xor(T value, uint32_t mask) const {
    return shuffle(value, lane() ^ mask);
  }
  template <class T>
  T shuffle(T value, uint32_t from) const {
    static_assert(sizeof(T) <= 16);
    std::byte bytes[16] = {};
    std::memcpy(bytes, &value, sizeof(T));
    const std::byte* found = exchange(bytes, from);
    std::memcpy(&value, found, sizeof(T));
    return value;
  }

  vec16 load_read_only(const void* from) const { return load(from); }
  vec16 load_no_allocate(const void* from) const { return load(from); }
  vec16 load(const void* from) const;
  void store(void* to, const vec16& v) const;
  void prefetch_l2(const void* from, uint32_t bytes) const;
  void cp_async(void* to_shared, const void* from, bool exists = true) const;
  void cp_async_commit_group() const;
  template <int Pending>
  void cp_async_wait_group() const {
    cp_async_wait_group(Pending);
  }

  template <element E>
  float_pair unpack(uint32_t word) const {
    return {element_at(&word, E, 0), element_at(&word, E, 1)};
  }
  template <element E>
  uint32_t pack(float low, float high) const {
    uint32_t word = 0;
    set_element(&word, E, 0, low), set_element(&word, E, 1, high);
    return word;
  }
  float exp2(float x) const;
  float log2(float x) const;
  void sincos(float angle, float& sine, float& cosine) const;
  float rsqrt(float x) const;

  void ldmatrix(uint32_t (&m)[4], const void* row) const;
  void ldmatrix_trans(uint32_t (&m)[4], const void* row) const;
  uint32_t movmatrix_trans(uint32_t word) const {
    const uint32_t from = lane() % 4 * 8 + lane() / 8, shift = lane() / 4 % 2 * 16;  // of row 2q
    const uint32_t first = shuffle(word, from), second = shuffle(word, from + 4);
    return (first >> shift & 0xffff) | second >> shift << 16;
  }
  template <element E>
  void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) const {
    mma(E, d, a, b0, b1);
  }

  void fence_proxy_async() const;
  emulated_smem_descriptor smem_descriptor(const void* start, uint32_t panel) const { return {start, panel}; }
  void wgmma_fence() const;
  template <element E, bool Transposed, uint32_t Blocks>
  void wgmma_mma_async(float (&d)[Blocks][4], const uint32_t (&a)[4],
                       const emulated_smem_descriptor& descriptor, uint32_t offset, bool add) const {
    wgmma_mma_async({E, Transposed, add, d, Blocks, a, descriptor, offset});
  }
  void wgmma_commit_group() const;
  template <int Pending, uint32_t Blocks>
  void wgmma_wait_group(float (&)[Blocks][4]) const {
    wgmma_wait_group(Pending);
  }
  bool warpgroup_any(bool holds) const;
  template <class T, uint32_t Blocks>
  void fence_operand(T (&)[Blocks][4]) const {}

 private:
  std::byte* shared_memory(size_t offset, size_t alignment) const;
  const void* other_block(const void* mine, uint32_t rank) const;
  const std::byte* exchange(const std::byte (&mine)[16], uint32_t from) const;
  void cp_async_wait_group(size_t pending) const;
  void mma(element type, float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) const;
  void wgmma_mma_async(const emulated_wgmma& p) const;
  void wgmma_wait_group(size_t pending) const;
  void multiply(size_t group, size_t which) const;
  float number_at(const emulated_wgmma& p, uint32_t row, uint32_t column) const;

  emulation::fiber_state* state_;
};

/// A launch, without the kernel's type.
struct emulated_launch {
  grid_size grid;
  uint32_t threads = 1, cluster = 1;
  size_t shared_bytes = 0;
  std::function<void(emulated_thread)> body;
  bool waits = true;  ///< its threads may synchronize
};

template <class Kernel>
constexpr bool may_sync() {
  return !requires { Kernel::never_syncs; };
}

/// Throws std::runtime_error on a deadlock, or on an operation that the machine does not support.
void emulate(const emulated_launch& launch, uint32_t seed);

template <class Kernel>
void emulate(const Kernel& kernel, grid_size grid, uint32_t seed) {
  emulate({grid, Kernel::threads, Kernel::cluster, kernel.shared_bytes(),
           [&](emulated_thread t) { kernel(t); }, may_sync<Kernel>()},
          seed);
}

}  // namespace troupe::cuda
