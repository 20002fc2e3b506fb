#include <algorithm>
#include <cassert>

#include "gpu/kernels/cpu/dense_amx.hpp"
#include "gpu/kernels/cpu/dense_bf16.hpp"
#include "gpu/kernels/cpu/dense_job.hpp"
#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/dense_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

namespace {

constexpr size_t panels_of_job = 4, inputs_of_job = 512;

}  // namespace

void dense(const dense_args& a) {
  assert(a.x_stride >= a.w->in() && a.y_stride >= a.w->out());
  if (a.rows == 0 || a.w->out() == 0) return;
#ifdef __x86_64__
  if (a.w->type() == element::bf16) {
    if (current_isa() == isa::amx) return dense_amx(a);
    if (current_isa() == isa::avx512_bf16) return dense_bf16(a);
  }
#endif
  const auto run = TROUPE_PICK(run_dense);
  const auto pack = TROUPE_PICK(pack_inputs);
  const size_t in = a.w->in(), panels = a.w->panels(), tall = dense_max_rows;
  const size_t wide_jobs = (panels + panels_of_job - 1) / panels_of_job,
               tall_jobs = (a.rows + tall - 1) / tall;
  const bool worth_threads = a.rows * in * a.w->out() > size_t{1} << 17;
  const auto job_of = [&](size_t i) {
    return dense_job{&a, a.x, i * tall, std::min(tall, a.rows - i * tall)};
  };

  float* packed = nullptr;  // null: a single row is read in place
  if (a.rows > 1) {
    packed = reinterpret_cast<float*>(room_for_inputs(a.rows * in * sizeof(float)));
    const size_t slices = (in + inputs_of_job - 1) / inputs_of_job;
#pragma omp parallel for schedule(static) if (worth_threads && a.rows * in > size_t{1} << 16)
    for (size_t i = 0; i < slices * tall_jobs; ++i) {
      const size_t begin = i % slices * inputs_of_job;
      pack(job_of(i / slices), begin, std::min(in, begin + inputs_of_job), packed);
    }
  }
  // dynamic: other processes may use the cores, too
#pragma omp parallel for schedule(dynamic) if (worth_threads)
  for (size_t i = 0; i < wide_jobs * tall_jobs; ++i) {
    auto job = job_of(i / wide_jobs);
    if (packed) job.x = packed;
    job.first_panel = i % wide_jobs * panels_of_job;
    job.panels = std::min(panels_of_job, panels - job.first_panel);
    run(job);
  }
}

}  // namespace troupe::kernels
