// Counter-based random numbers: a function of key and counter, the same on every machine and in any order
// (Philox 4x32, 10 rounds: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once
#include <array>
#include <cstdint>

namespace troupe::kernels {

constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * counter[0], b = uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9e3779b9, key[1] += 0xbb67ae85;
  }
  return counter;
}

/// Uniform in [0, 1), with 53 bits, for a seed and a position.
constexpr double uniform(uint64_t seed, uint64_t position) {
  const auto bits = philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), 0, 0},
                           {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<double>((uint64_t{bits[1]} << 32 | bits[0]) >> 11) * 0x1p-53;
}

}  // namespace troupe::kernels
