// The interface of a kernel's thread to the GPU: one short function for each instruction that the kernels
// use. The tests' emulator has the same members with the same meaning. Clusters, bulk prefetches and
// programmatic dependent launch need sm_90. Before it a kernel is launched with clusters of one block, and
// the other two do nothing.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu/kernels/cuda/device_code.hpp"
#include "gpu/kernels/cuda/wgmma_m64k16.cuh"

namespace troupe::cuda {

class cuda_thread {
 public:
  // --- indices ---
  TROUPE_DEVICE uint32_t index() const { return threadIdx.x; }
  TROUPE_DEVICE uint32_t lane() const { return threadIdx.x % 32; }
  TROUPE_DEVICE uint32_t warp() const { return threadIdx.x / 32; }
  TROUPE_DEVICE uint32_t block() const { return blockIdx.x; }
  TROUPE_DEVICE uint32_t block_y() const { return blockIdx.y; }
  TROUPE_DEVICE uint32_t block_z() const { return blockIdx.z; }
  TROUPE_DEVICE uint32_t blocks() const { return gridDim.x; }
  TROUPE_DEVICE uint32_t block_rank_in_cluster() const {
    uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
  }

  // --- shared memory of the block, and of the other blocks of its cluster ---
  template <class T>
  TROUPE_DEVICE T* shared(size_t offset = 0) const {
    extern __shared__ __align__(1024) unsigned char memory[];
    return reinterpret_cast<T*>(memory + offset);
  }
  /// The same address in the shared memory of block `rank` of the cluster.
  template <class T>
  TROUPE_DEVICE const T* map_shared_rank(const T* mine, uint32_t rank) const {
#if __CUDA_ARCH__ >= 900
    uint64_t there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(mine), "r"(rank));
    return reinterpret_cast<const T*>(there);
#else
    return mine;
#endif
  }

  // --- barriers: writes before are visible after ---
  TROUPE_DEVICE void sync() const { __syncthreads(); }
  TROUPE_DEVICE void sync_warp() const { __syncwarp(); }
  TROUPE_DEVICE void cluster_sync() const {
    cluster_arrive();
    cluster_wait();
  }
  /// The two halves of cluster_sync, with other work between them; no cluster_sync in between.
  TROUPE_DEVICE void cluster_arrive() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
  }
  /// cluster_arrive for threads that have only read: their writes need not be visible after it, which saves a
  /// fence of all memory.
  TROUPE_DEVICE void cluster_arrive_relaxed() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#endif
  }
  TROUPE_DEVICE void cluster_wait() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#else
    __syncthreads();  // a cluster is a block
#endif
  }
  /// Adds to a counter in global memory and returns the old value. Writes of this thread, and writes of
  /// others before they synced with it, are visible to a thread that reads the sum and calls `acquire`, and
  /// to those that sync with it after that.
  TROUPE_DEVICE uint32_t atomic_add_release(uint32_t* counter, uint32_t n) const {
    uint32_t before;
    asm volatile("atom.release.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(counter), "r"(n)
                 : "memory");
    return before;
  }
  TROUPE_DEVICE void fence_acq_rel() const { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
  /// Adds to a number in shared memory, in any order.
  TROUPE_DEVICE void atomic_add_shared(uint32_t* sum, uint32_t n) const { atomicAdd(sum, n); }
  TROUPE_DEVICE void atomic_add_shared(uint64_t* sum, uint64_t n) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(n));
  }
  /// griddepcontrol.wait: waits until the previous kernel in the stream has ended and its writes are visible.
  TROUPE_DEVICE void grid_dependency_sync() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  }
  /// griddepcontrol.launch_dependents: allows the launch of the next kernel (programmatic dependent launch).
  TROUPE_DEVICE void launch_dependents() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
  }

  // --- lanes of a warp; all 32 take part ---
  template <class T>
  TROUPE_DEVICE T shuffle_xor(T value, uint32_t mask) const {
    return __shfl_xor_sync(0xffffffff, value, static_cast<int>(mask));
  }
  template <class T>
  TROUPE_DEVICE T shuffle(T value, uint32_t lane) const {
    return __shfl_sync(0xffffffff, value, static_cast<int>(lane));
  }

  // --- memory; addresses are multiples of 16 ---
  /// For data that is read once and never written by this kernel. Not ld.nc, which ptxas moves behind
  /// grid_dependency_sync.
  TROUPE_DEVICE vec16 load_read_only(const void* from) const {
    vec16 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from));
    return v;
  }
  /// For data that is read once, and may have been written by the previous kernel.
  TROUPE_DEVICE vec16 load_no_allocate(const void* from) const {
    vec16 v;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(from)
                 : "memory");
    return v;
  }
  TROUPE_DEVICE vec16 load(const void* from) const {
    const uint4 v = *static_cast<const uint4*>(from);
    return {{v.x, v.y, v.z, v.w}};
  }
  TROUPE_DEVICE void store(void* to, const vec16& v) const {
    *static_cast<uint4*>(to) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
  }
  /// Prefetches `bytes` (a multiple of 16) into L2; one thread suffices.
  TROUPE_DEVICE void prefetch_l2(const void* from, uint32_t bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
#endif
  }
  /// Copies 16 bytes into shared memory, or zeros unless `exists`. Visible after cp_async_wait_group; to
  /// other threads after a sync as well.
  TROUPE_DEVICE void cp_async(void* to_shared, const void* from, bool exists = true) const {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to_shared)), "l"(from),
                 "r"(exists ? 16 : 0)
                 : "memory");
  }
  /// Makes a group of the copies since the last commit.
  TROUPE_DEVICE void cp_async_commit_group() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
  /// Waits for all of this thread's groups except the last `Pending`.
  template <int Pending>
  TROUPE_DEVICE void cp_async_wait_group() const {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
  }

  // --- numbers of 16 bits, two in a word: the first in the low half ---
  template <element E>
  TROUPE_DEVICE float_pair unpack(uint32_t word) const {
    if constexpr (E == element::bf16)
      return {__uint_as_float(word << 16), __uint_as_float(word & 0xffff0000U)};
    __half2 pair;
    memcpy(&pair, &word, 4);
    const float2 f = __half22float2(pair);
    return {f.x, f.y};
  }
  template <element E>
  TROUPE_DEVICE uint32_t pack(float low, float high) const {
    uint32_t word;
    if constexpr (E == element::bf16) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    }
    return word;
  }
  TROUPE_DEVICE float exp2(float x) const {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  TROUPE_DEVICE float log2(float x) const {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  /// Accurate for angles of any size.
  TROUPE_DEVICE void sincos(float angle, float& sine, float& cosine) const { sincosf(angle, &sine, &cosine); }
  TROUPE_DEVICE float rsqrt(float x) const { return 1.0F / sqrtf(x); }

  // --- tensor cores; fragments as PTX lays them out, g = lane / 4, q = lane % 4 ---
  /// Loads four matrices of 8 x 8 numbers from shared memory. Lane 8 i + r passes the address of the 16 bytes
  /// of row r of matrix i, and gets the numbers 2q, 2q + 1 of row g of each matrix.
  TROUPE_DEVICE void ldmatrix(uint32_t (&m)[4], const void* row) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(shared_address(row))
                 : "memory");
  }
  /// The same, transposed: the numbers of column g in rows 2q, 2q + 1.
  TROUPE_DEVICE void ldmatrix_trans(uint32_t (&m)[4], const void* row) const {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(shared_address(row))
                 : "memory");
  }
  /// Transposes a matrix of 8 x 8 numbers of 16 bits. A lane passes 2q, 2q + 1 of row g, and gets those of
  /// column g.
  TROUPE_DEVICE uint32_t movmatrix_trans(uint32_t word) const {
    uint32_t column;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(column) : "r"(word));
    return column;
  }
  /// d [16, 8] += a [16, 16] b [16, 8]. a: rows g, g + 8, g, g + 8 at columns 2q, 2q, 2q + 8, 2q + 8; b:
  /// column g at rows 2q, 2q + 8; d: rows g, g, g + 8, g + 8 at columns 2q, 2q + 1, 2q, 2q + 1.
  template <element E>
  TROUPE_DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) const {
    if constexpr (E == element::bf16) {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
  }

  // --- tensor cores: wgmma of sm_90a, by a warpgroup (four warps from a multiple of four on) ---
  // wgmma is asynchronous, and all threads of the group take part. Registers and shared memory that an
  // instruction reads or writes must not be touched until wgmma_wait_group.
  /// fence.proxy.async: completed copies of this thread (cp_async_wait_group) become visible to wgmmas that
  /// threads start after a sync.
  TROUPE_DEVICE void fence_proxy_async() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  }
  /// wgmma.fence, before the first wgmma of a group: orders earlier register accesses before it.
  TROUPE_DEVICE void wgmma_fence() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
  }
  /// The descriptor of a matrix in shared memory, for the second operand. Rows are 64 numbers, 128 bytes,
  /// with 128-byte swizzle: 16-byte chunk c of row r is at chunk position c ^ r % 8. The next 64 columns are
  /// `panel` bytes behind. Row 0 begins at a multiple of 1024 bytes.
  TROUPE_DEVICE uint64_t smem_descriptor(const void* start, uint32_t panel) const {
    return swizzled_smem_descriptor(shared_address(start), panel);
  }
  /// d [64, N] = a [64, 16] b [16, N], or += with `add`; N = 8 Blocks, 64 or 128. a and d: each warp has
  /// sixteen rows, laid out as for mma. b: at `offset` bytes in the descriptor's matrix, whose rows are the
  /// columns of b (N = 64), or the rows of b with Transposed.
  template <element E, bool Transposed, uint32_t Blocks>
  TROUPE_DEVICE void wgmma_mma_async(float (&d)[Blocks][4], const uint32_t (&a)[4], uint64_t descriptor,
                                     uint32_t offset, bool add) const {
    wgmma_m64k16<E, Transposed>(d, a, descriptor + offset / 16, add);
  }
  /// Makes a group of the wgmmas since the last commit.
  TROUPE_DEVICE void wgmma_commit_group() const {
#if __CUDA_ARCH__ >= 900
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
  }
  /// Waits for all groups except the last `Pending`. After it d, the result of one of them, is valid.
  template <int Pending, uint32_t Blocks>
  TROUPE_DEVICE void wgmma_wait_group(float (&d)[Blocks][4]) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
#endif
    fence_operand(d);  // keeps the compiler from reading d earlier
  }
  /// True if `holds` for any thread of the warpgroup. Synchronises the group, so that all its threads take
  /// the same branch around a wait for wgmmas.
  TROUPE_DEVICE bool warpgroup_any(bool holds) const {
    uint32_t any;
    asm volatile(
        "{.reg .pred p, q; setp.ne.b32 p, %1, 0; barrier.cta.red.or.pred q, %2, 128, p; selp.b32 %0, 1, 0, "
        "q;}"
        : "=r"(any)
        : "r"(static_cast<int>(holds)), "r"(1 + threadIdx.x / 128)
        : "memory");
    return any != 0;
  }
  /// Keeps the compiler from moving the calculation of these numbers behind a later wait: it overlaps with
  /// the wgmmas that are waited for.
  template <uint32_t Blocks>
  TROUPE_DEVICE void fence_operand(float (&d)[Blocks][4]) const {
    TROUPE_UNROLL for (uint32_t i = 0; i < Blocks; ++i) {
      TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) asm volatile("" : "+f"(d[i][j])::"memory");
    }
  }
  /// Keeps these operands in their registers up to here, behind the wait for the wgmmas that read them.
  template <uint32_t Blocks>
  TROUPE_DEVICE void fence_operand(uint32_t (&a)[Blocks][4]) const {
    TROUPE_UNROLL for (uint32_t i = 0; i < Blocks; ++i) {
      TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) asm volatile("" : "+r"(a[i][j])::"memory");
    }
  }

 private:
  TROUPE_DEVICE static uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
  }
};

}  // namespace troupe::cuda
