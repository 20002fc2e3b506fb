// A job of a LoRA shrink or expand: some rows of one segment, and some ranks or some outputs. Internal to the
// kernels.
#pragma once
#include "gpu/kernels/sgmv.hpp"

namespace troupe::kernels {

inline constexpr size_t lora_rows_of_job = 32;
inline constexpr size_t shrink_ranks_of_job = 4;
inline constexpr size_t expand_outputs_of_job = 512;

struct sgmv_job {
  const lora_weights* weights = nullptr;
  size_t first_row = 0, rows = 0;
  size_t first = 0, count = 0;  ///< ranks of a shrink, outputs of an expand
};

}  // namespace troupe::kernels
