#include "gpu/llm/image_part.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "gpu/kernels/streaming_store.hpp"

namespace troupe::llm {
namespace {

/// Bytes that are hashed and then copied while they are in the first cache.
constexpr size_t piece_bytes = 8192;

}  // namespace

void image_part::write(uint64_t at, std::span<const std::byte> bytes) {
  static constexpr std::array<std::byte, 64> zeros{};
  while (next_ < std::min(at, end())) append(std::span(zeros).first(std::min(zeros.size(), at - next_)));
  const auto from = std::max(at, next_), to = std::min(at + bytes.size(), end());
  if (from >= to) return;
  assert(at <= next_);
  append(bytes.subspan(from - at, to - from));
}

uint64_t image_part::finish() {
  assert(next_ == end());
  kernels::end_streaming_stores();
  return hasher_.hash();
}

void image_part::append(std::span<const std::byte> bytes) {
  while (!bytes.empty() && next_ < end()) {
    const auto piece = bytes.first(std::min({bytes.size(), piece_bytes, end() - next_}));
    hasher_.add(piece);
    kernels::streaming_store(piece, memory_.data() + (next_ - begin_));
    next_ += piece.size();
    bytes = bytes.subspan(piece.size());
  }
}

}  // namespace troupe::llm
