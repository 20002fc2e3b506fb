// Random numbers that are the same on every platform.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace troupe {

/// Scrambles a counter; seeds the generator below (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators").
constexpr uint64_t splitmix64(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// xoshiro256++ (Blackman, Vigna). Each part of a run has a stream of its own, named after its purpose, so
/// that its draws do not depend on other parts.
class random_stream {
 public:
  using result_type = uint64_t;

  random_stream(uint64_t seed, std::string_view name, uint64_t index = 0) {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    uint64_t state = seed;
    state = splitmix64(state) ^ hash;
    state = splitmix64(state) ^ index;
    for (auto& word : state_) word = splitmix64(state);
  }

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }

  uint64_t operator()() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// In [0, 1), a multiple of 2⁻⁵³.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// In [0, n), n > 0; biased by less than n / 2⁶⁴.
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>((*this)()) * n) >> 64);
  }

 private:
  uint64_t state_[4];
};

}  // namespace troupe
