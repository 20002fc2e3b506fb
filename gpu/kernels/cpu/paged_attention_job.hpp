// A thread's part of a paged_attention call: consecutive rows of one sequence and some heads of a group,
// which share their keys and values. Internal to the kernels.
#pragma once
#include "gpu/kernels/paged_attention.hpp"

namespace troupe::kernels {

inline constexpr uint32_t attention_block = 32;        ///< positions
inline constexpr uint32_t attention_max_queries = 32;  ///< rows times heads of a job

struct attention_job {
  const paged_attention_args* args = nullptr;
  size_t first_row = 0;
  uint32_t rows = 0;
  uint32_t first_head = 0, heads = 0;  ///< all with the same KV head
};

}  // namespace troupe::kernels
