// Embedding lookup: the table's rows for tokens, as floats.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/common/element.hpp"
#include "messages/llm/token.hpp"

namespace troupe::kernels {

struct embedding_args {
  const llm::token* tokens = nullptr;  ///< [rows], each in [0, vocabulary)
  size_t rows = 0;
  const void* table = nullptr;  ///< [vocabulary, hidden]
  element type = element::f32;  ///< of the table
  size_t hidden = 0;
  float* out = nullptr;   ///< [rows, hidden], written
  size_t out_stride = 0;  ///< floats from row to row, at least `hidden`
  float scale = 1;        ///< of the numbers
};

void embedding_reference(const embedding_args& args);
void embedding(const embedding_args& args);

}  // namespace troupe::kernels
