#include "transport/common/streaming_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace troupe {
#ifdef __SSE2__
namespace {

constexpr size_t line = 64, page = 4096;
/// Pages that are copied at once: memory is faster with several streams, and a page's prefetcher knows one.
constexpr size_t streams = 4;

/// `to` is aligned to a line.
void copy_line(const std::byte* from, std::byte* to) {
  const auto* in = reinterpret_cast<const __m128i*>(from);
  auto* out = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2),
                d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

}  // namespace

void streaming_copy(std::span<const std::byte> from, std::span<std::byte> into) {
  const auto misaligned = reinterpret_cast<uintptr_t>(into.data()) % line;
  const size_t head = std::min(from.size(), (line - misaligned) % line);
  std::memcpy(into.data(), from.data(), head);
  const auto* source = from.data() + head;
  auto* target = into.data() + head;
  size_t left = from.size() - head;
  for (; left >= streams * page; left -= streams * page, source += streams * page, target += streams * page)
    for (size_t at = 0; at < page; at += line)
      for (size_t p = 0; p < streams * page; p += page) {
        _mm_prefetch(reinterpret_cast<const char*>(source + p + at + 4 * line), _MM_HINT_T0);
        copy_line(source + p + at, target + p + at);
      }
  _mm_sfence();
  std::memcpy(target, source, left);
}
#else
void streaming_copy(std::span<const std::byte> from, std::span<std::byte> into) {
  std::memcpy(into.data(), from.data(), from.size());
}
#endif

}  // namespace troupe
