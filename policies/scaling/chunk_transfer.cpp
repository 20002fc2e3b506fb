#include "policies/scaling/chunk_transfer.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace troupe {

chunk_transfer::chunk_transfer(std::vector<image_chunk> chunks, uint32_t layers, uint32_t window,
                               uint32_t here)
    : chunks_(std::move(chunks)),
      layers_(layers),
      window_(window),
      all_(chunks_.size()),
      ready_(here),
      from_(here) {
  assert(window > 0 && here <= size());
  for (uint32_t i = 0; i < here; ++i) all_[i].is = state::here;
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
