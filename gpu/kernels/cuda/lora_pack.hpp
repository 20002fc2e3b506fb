// Packs an adapter's matrices for lora_kernel: in the fragment order of tensor cores, 16 bytes a lane, so
// that each load of a warp is 512 contiguous bytes and needs no shuffles.
//
// With g = lane / 4 and q = lane % 4, the four words of a lane are the rows g, g + 8, g, g + 8 of a fragment
// [16, 16] at columns 2q, 2q, 2q + 8, 2q + 8 and the one after (PTX: mma.m16n8k16).
//
// A: fragments [rank / 16][in / 32][2]. The two fragments of 32 inputs permute them: column 2q + i of
//    fragment s is input 8q + 4s + i, column 2q + 8 + i is 8q + 4s + 2 + i. So a lane needs 16 bytes of x
//    for both, inputs 8q .. 8q + 7.
// B: fragments [out / 64][rank / 16][4]. Row g of fragment m is output 8g + 2m, row g + 8 is 8g + 2m + 1. So
//    the four products give a lane eight adjacent outputs, 16 bytes of y.
//
// Ranks, inputs and outputs are padded with zeros to multiples of 16, 32 and 64.
#pragma once
#include <cstring>

#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

constexpr uint32_t lora_ranks(uint32_t rank) { return round_up(rank, 16U); }
constexpr size_t packed_a_bytes(uint32_t rank, size_t in) {
  return size_t{lora_ranks(rank)} * round_up<size_t>(in, 32) * 2;
}
constexpr size_t packed_b_bytes(uint32_t rank, size_t out) {
  return size_t{lora_ranks(rank)} * round_up<size_t>(out, 64) * 2;
}

namespace lora_packing {

/// Writes a fragment [16, 16] to `to`. `at(row, column)`: address of a number of 16 bits, or null.
template <class At>
void pack_fragment(uint16_t* to, At at) {
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t word = 0; word < 4; ++word) {
      for (uint32_t i = 0; i < 2; ++i) {
        const uint16_t* from = at(lane / 4 + word % 2 * 8, lane % 4 * 2 + word / 2 * 8 + i);
        to[lane * 8 + word * 2 + i] = from == nullptr ? uint16_t{0} : *from;
      }
    }
  }
}

}  // namespace lora_packing

/// Packs a [rank, in], numbers of 16 bits, into `to`, of packed_a_bytes, including padding.
inline void pack_lora_a(const uint16_t* a, uint32_t rank, size_t in, uint16_t* to) {
  for (uint32_t first_rank = 0; first_rank < rank; first_rank += 16) {
    for (size_t first = 0; first < in; first += 32) {
      for (uint32_t s = 0; s < 2; ++s, to += 256) {
        lora_packing::pack_fragment(to, [&](uint32_t row, uint32_t column) -> const uint16_t* {
          const uint32_t r = first_rank + row;
          const size_t k = first + column % 8 / 2 * 8 + s * 4 + column / 8 * 2 + column % 2;
          return r < rank && k < in ? a + r * in + k : nullptr;
        });
      }
    }
  }
}

/// Packs b [rank, out], numbers of 16 bits, into `to`, of packed_b_bytes, including padding.
inline void pack_lora_b(const uint16_t* b, uint32_t rank, size_t out, uint16_t* to) {
  for (size_t first = 0; first < out; first += 64) {
    for (uint32_t first_rank = 0; first_rank < rank; first_rank += 16) {
      for (uint32_t m = 0; m < 4; ++m, to += 256) {
        lora_packing::pack_fragment(to, [&](uint32_t row, uint32_t column) -> const uint16_t* {
          const uint32_t r = first_rank + column;
          const size_t n = first + row % 8 * 8 + m * 2 + row / 8;
          return r < rank && n < out ? b + r * out + n : nullptr;
        });
      }
    }
  }
}

}  // namespace troupe::cuda
