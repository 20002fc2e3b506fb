#include "policies/scaling/chunk_transfer.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace troupe {

std::vector<image_chunk> chunks_of(std::span<const uint64_t> layer_bytes, uint64_t max_bytes) {
  assert(max_bytes > 0);
  std::vector<image_chunk> out;
  for (uint32_t l = 0; l < layer_bytes.size(); ++l)
    for (uint64_t at = 0; at < layer_bytes[l]; at += max_bytes)
      out.push_back({l, at, std::min(max_bytes, layer_bytes[l] - at)});
  return out;
}

chunk_transfer::chunk_transfer(std::vector<image_chunk> chunks, uint32_t layers, uint32_t window)
    : chunks_(std::move(chunks)), layers_(layers), window_(window), all_(chunks_.size()) {
  assert(window > 0);
}

void chunk_transfer::announce(uint32_t n) { announced_ = std::clamp(n, announced_, size()); }

void chunk_transfer::relink() { announced_ = 0; }

std::optional<uint32_t> chunk_transfer::next() {
  if (in_flight_ == window_) return std::nullopt;
  while (from_ < announced_ && all_[from_].is != state::missing) ++from_;
  if (from_ >= announced_) return std::nullopt;
  auto& p = all_[from_];
  p.is = state::pulling;
  if (std::exchange(p.asked_before, true)) bytes_repeated_ += chunks_[from_].bytes;
  ++in_flight_;
  return from_++;
}

void chunk_transfer::ended(uint32_t chunk, chunk_outcome how) {
  auto& p = all_[chunk];
  assert(p.is == state::pulling);
  --in_flight_;
  damaged_ += how == chunk_outcome::damaged ? 1 : 0;
  if (how != chunk_outcome::good) {
    p.is = state::missing;
    from_ = std::min(from_, chunk);
    return;
  }
  p.is = state::here;
  bytes_arrived_ += chunks_[chunk].bytes;
  while (ready_ < size() && all_[ready_].is == state::here) ++ready_;
}

uint32_t chunk_transfer::layers_ready() const { return complete() ? layers_ : chunks_[ready_].layer; }

}  // namespace troupe
