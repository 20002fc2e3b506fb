#include <algorithm>
#include <cassert>
#include <vector>

#include "gpu/kernels/cpu/paged_attention_job.hpp"
#include "gpu/kernels/cpu/simd.hpp"
#include "gpu/kernels/cpu/simd_bf16.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/paged_attention_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"
#ifdef __x86_64__
#define TROUPE_BF16_DOTS
TROUPE_BEGIN_AVX512_BF16
namespace troupe::kernels::avx512_bf16 {
#include "gpu/kernels/cpu/paged_attention_simd.inc"
}
TROUPE_END_ISA
#undef TROUPE_BF16_DOTS
#endif

namespace troupe::kernels {

namespace {

auto attend_function() {
#ifdef __x86_64__
  if (current_isa() == isa::avx512_bf16) return &avx512_bf16::attend;
#endif
  return TROUPE_PICK(attend);
}

}  // namespace

void paged_attention(const paged_attention_args& a) {
  assert(a.kv.kv_heads > 0 && a.heads % a.kv.kv_heads == 0 && a.kv.page_tokens > 0);
  assert(a.kv.head_dim > 0 && a.kv.head_dim <= attention_max_head_dim);
  const auto run = attend_function();
  const uint32_t group = a.heads / a.kv.kv_heads;
  const uint32_t heads_at_once = std::min(group, attention_max_queries);
  const uint32_t rows_at_once = attention_max_queries / heads_at_once;
  std::vector<attention_job> jobs;
  size_t tokens = 0;
  for (size_t first = 0, past = 0; first < a.rows; first = past) {
    for (past = first + 1;
         past < a.rows && past - first < rows_at_once && a.row_sequence[past] == a.row_sequence[first];)
      ++past;
    tokens += (past - first) * (a.row_position[past - 1] + size_t{1});
    for (uint32_t head = 0; head < a.heads;) {
      const uint32_t n = std::min(heads_at_once, group - head % group);
      jobs.push_back({&a, first, static_cast<uint32_t>(past - first), head, n});
      head += n;
    }
  }
#pragma omp parallel for schedule(dynamic) if (tokens * a.heads * a.kv.head_dim > 1 << 16)
  for (size_t i = 0; i < jobs.size(); ++i) run(jobs[i]);
}

}  // namespace troupe::kernels
