#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gpu/kernels/streaming_store.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace troupe::kernels {

#ifdef __x86_64__
void streaming_store(std::span<const std::byte> from, std::byte* to) {
  constexpr size_t line = 64;
  const auto misaligned = reinterpret_cast<uintptr_t>(to) % line;
  size_t at = std::min(from.size(), (line - misaligned) % line);
  std::memcpy(to, from.data(), at);
  for (; at + line <= from.size(); at += line) {
    const auto* in = reinterpret_cast<const __m128i*>(from.data() + at);
    auto* out = reinterpret_cast<__m128i*>(to + at);
    const __m128i words[] = {_mm_loadu_si128(in), _mm_loadu_si128(in + 1), _mm_loadu_si128(in + 2),
                             _mm_loadu_si128(in + 3)};
    for (int i = 0; i < 4; ++i) _mm_stream_si128(out + i, words[i]);
  }
  std::memcpy(to + at, from.data() + at, from.size() - at);
}
void end_streaming_stores() { _mm_sfence(); }
#else
void streaming_store(std::span<const std::byte> from, std::byte* to) {
  std::memcpy(to, from.data(), from.size());
}
void end_streaming_stores() {}
#endif

}  // namespace troupe::kernels
