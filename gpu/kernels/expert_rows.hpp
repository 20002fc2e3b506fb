// Rows of an expert in a mixture of experts: gathered from a step's rows before its projections, and added to
// them, with their weights, behind these.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::kernels {

struct gather_rows_args {
  const float* x = nullptr;  ///< rows of `width`, contiguous
  size_t width = 0;
  const uint32_t* which = nullptr;  ///< [rows] indices into x
  size_t rows = 0;
  float* out = nullptr;  ///< [rows, width], written
};

struct add_rows_args {
  const float* x = nullptr;  ///< [rows, width]
  size_t width = 0;
  const uint32_t* which = nullptr;  ///< [rows] indices into `sum`, distinct
  const float* weight = nullptr;    ///< [rows]
  size_t rows = 0;
  float* sum = nullptr;  ///< rows of `width`, contiguous; weight * x is added
};

void gather_rows_reference(const gather_rows_args& args);
void gather_rows(const gather_rows_args& args);
void add_rows_reference(const add_rows_args& args);
void add_rows(const add_rows_args& args);

}  // namespace troupe::kernels
