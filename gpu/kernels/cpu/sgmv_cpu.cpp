#include <omp.h>

#include <algorithm>
#include <cassert>

#include "gpu/kernels/cpu/sgmv_job.hpp"
#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/sgmv_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

namespace {

/// Runs this thread's jobs: every n-th of all segments' jobs, with n threads. The jobs of a segment divide
/// `count_of(weights)` into pieces of `piece`.
template <class Count, class Run>
void share_jobs(const lora_segments& segments, size_t piece, Count count_of, Run run) {
  const auto threads = static_cast<size_t>(omp_get_num_threads()),
             me = static_cast<size_t>(omp_get_thread_num());
  size_t turn = 0;
  for (uint32_t s = 0; s < segments.count; ++s) {
    const lora_weights* w = segments.weights(s);
    if (w == nullptr) continue;
    assert(w->rank <= lora_max_rank);
    const size_t count = count_of(*w), past = segments.segment_end[s + 1];
    for (size_t row = segments.segment_end[s]; row < past; row += lora_rows_of_job) {
      for (size_t first = 0; first < count; first += piece) {
        if (turn++ % threads == me)
          run({w, row, std::min(lora_rows_of_job, past - row), first, std::min(piece, count - first)});
      }
    }
  }
}

void share_shrink(const sgmv_shrink_args& a) {
  const auto run = TROUPE_PICK(run_shrink);
  share_jobs(
      a.segments, shrink_ranks_of_job, [](const lora_weights& w) { return size_t{w.rank}; },
      [&](const sgmv_job& job) { run(a, job); });
}

void share_expand(const sgmv_expand_args& a) {
  const auto run = TROUPE_PICK(run_expand);
  share_jobs(
      a.segments, expand_outputs_of_job, [&](const lora_weights&) { return a.out; },
      [&](const sgmv_job& job) { run(a, job); });
}

/// True if `width` numbers for each rank of each row are enough work for several threads.
bool worth_threads(const lora_segments& segments, size_t width) {
  size_t products = 0;
  for (uint32_t s = 0; s < segments.count; ++s) {
    if (const lora_weights* w = segments.weights(s))
      products += size_t{segments.segment_end[s + 1] - segments.segment_end[s]} * w->rank * width;
  }
  return products > size_t{1} << 16;
}

}  // namespace

void sgmv_shrink(const sgmv_shrink_args& a) {
#pragma omp parallel if (worth_threads(a.segments, a.in))
  share_shrink(a);
}

void sgmv_expand(const sgmv_expand_args& a) {
#pragma omp parallel if (worth_threads(a.segments, a.out))
  share_expand(a);
}

void lora(const lora_args& a) {
#pragma omp parallel if (worth_threads(a.segments, a.in + a.out))
  {
    share_shrink(a.shrink());
#pragma omp barrier
    share_expand(a.expand());
  }
}

}  // namespace troupe::kernels
