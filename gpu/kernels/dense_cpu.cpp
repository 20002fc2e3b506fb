#include <algorithm>
#include <cassert>

#include "gpu/kernels/dense_job.hpp"
#include "gpu/kernels/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/dense_simd.inc"
#include "gpu/kernels/each_isa.inc"

namespace troupe::kernels {

namespace {

constexpr size_t panels_of_job = 4;

}  // namespace

void dense(const dense_args& a) {
  assert(a.x_stride >= a.w->in() && a.y_stride >= a.w->out());
  if (a.rows == 0 || a.w->out() == 0) return;
  const auto run = TROUPE_PICK(run_dense);
  const size_t panels = a.w->panels(), tall = dense_max_rows;
  const size_t wide_jobs = (panels + panels_of_job - 1) / panels_of_job,
               tall_jobs = (a.rows + tall - 1) / tall;
  const bool worth_threads = a.rows * a.w->in() * a.w->out() > size_t{1} << 17;
#pragma omp parallel for schedule(static) if (worth_threads)
  for (size_t i = 0; i < wide_jobs * tall_jobs; ++i) {
    const size_t row = i / wide_jobs * tall, panel = i % wide_jobs * panels_of_job;
    run({&a, row, std::min(tall, a.rows - row), panel, std::min(panels_of_job, panels - panel)});
  }
}

}  // namespace troupe::kernels
