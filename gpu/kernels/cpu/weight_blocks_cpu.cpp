#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>
#include <utility>

#include "gpu/kernels/conversion.hpp"
#include "gpu/kernels/cpu/simd.hpp"
#include "gpu/kernels/weight_blocks.hpp"

namespace troupe::kernels {
namespace {

constexpr size_t panel_width = packed_weights::panel_outputs;
constexpr size_t cache_line = 64;

/// Rows of a block, converted; beyond the inputs they are zero.
template <class To>
using block_rows = To[panel_width][weight_blocks::block_inputs];

/// The element that a type stores.
template <class T>
constexpr element element_of = std::is_same_v<T, half>     ? element::f16
                               : std::is_same_v<T, bfloat> ? element::bf16
                                                           : element::f32;

/// Inputs [first, first + n) of a row. Fetches those of the block after the next one into the second cache:
/// the rows are more streams than the processor recognises.
template <class To, class From>
void convert(const From* row, size_t first, size_t n, To* to) {
  const From* from = row + first;
  for (size_t at = 0; at < n * sizeof(From); at += cache_line)
    __builtin_prefetch(reinterpret_cast<const std::byte*>(from + 2 * n) + at, 0, 2);
  if constexpr (std::is_same_v<To, From>)
    std::memcpy(to, from, n * sizeof(To));
  else
    conversion({from, element_of<From>, to, element_of<To>, n});
}

template <class To>
void convert(const weight_rows& part, size_t row, size_t in, size_t first, size_t n, To* to) {
  switch (part.type) {
    case element::f16: return convert(static_cast<const half*>(part.weights) + row * in, first, n, to);
    case element::bf16: return convert(static_cast<const bfloat*>(part.weights) + row * in, first, n, to);
    default: return convert(static_cast<const float*>(part.weights) + row * in, first, n, to);
  }
}

}  // namespace
}  // namespace troupe::kernels

#define TROUPE_ISA_BODY "gpu/kernels/cpu/weight_blocks_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {
namespace {

/// Stores `inputs` inputs of the rows as columns.
void store_columns(const block_rows<half>& rows, size_t inputs, std::byte* to) {
  for (size_t k = 0; k < inputs; ++k)
    for (size_t c = 0; c < panel_width; ++c)
      std::memcpy(to + (k * panel_width + c) * sizeof(half), &rows[c][k], sizeof(half));
}
template <class To>
void store_columns(const block_rows<To>& rows, size_t inputs, std::byte* to) {
  const auto transpose = TROUPE_PICK(transpose_words);  // numbers, or pairs of BF16
  transpose(reinterpret_cast<const std::byte*>(rows), sizeof rows[0], inputs * sizeof(To) / sizeof(uint32_t),
            to);
}

/// Inputs [first, first + n) of 32 rows from `row` on; `padded`: the block's inputs.
template <class To>
void make_block(const std::vector<weight_rows>& parts, size_t row, size_t in, size_t first, size_t n,
                size_t padded, std::byte* to) {
  alignas(cache_line) block_rows<To> rows;
  size_t column = 0, begin = 0;  // of the block; of the part
  for (const auto& part : parts) {
    for (; column < panel_width && row + column < begin + part.rows; ++column) {
      convert(part, row + column - begin, in, first, n, rows[column]);
      std::fill(rows[column] + n, rows[column] + padded, To(0.0F));
    }
    begin += part.rows;
  }
  for (; column < panel_width; ++column) std::fill(rows[column], rows[column] + padded, To(0.0F));
  store_columns(rows, padded, to);
}

size_t rows_of(const std::vector<weight_rows>& parts) {
  size_t out = 0;
  for (const auto& p : parts) out += p.rows;
  return out;
}

}  // namespace

weight_blocks::weight_blocks(std::vector<weight_rows> parts, element type, size_t in)
    : parts_(std::move(parts)),
      panels_(nullptr, type, rows_of(parts_), in),
      block_bytes_(block_inputs * panel_width * element_bytes(type)),
      panel_blocks_((panels_.panel_bytes() + block_bytes_ - 1) / block_bytes_) {}

size_t weight_blocks::block_at(size_t offset) const {
  return offset / panels_.panel_bytes() * panel_blocks_ + offset % panels_.panel_bytes() / block_bytes_;
}

size_t weight_blocks::offset(size_t block) const {
  return block / panel_blocks_ * panels_.panel_bytes() + block % panel_blocks_ * block_bytes_;
}

size_t weight_blocks::make(size_t block, std::byte* to) const {
  const size_t row = block / panel_blocks_ * panel_width, first = block % panel_blocks_ * block_inputs;
  const size_t n = std::min(block_inputs, panels_.in() - first);
  const size_t padded = std::min(block_inputs, panels_.padded_in() - first);
  switch (panels_.type()) {
    case element::f16: make_block<half>(parts_, row, panels_.in(), first, n, padded, to); break;
    case element::bf16: make_block<bfloat>(parts_, row, panels_.in(), first, n, padded, to); break;
    default: make_block<float>(parts_, row, panels_.in(), first, n, padded, to);
  }
  return padded * panel_width * element_bytes(panels_.type());
}

}  // namespace troupe::kernels
