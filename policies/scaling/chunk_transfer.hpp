// The state of one link of a multicast chain: which chunks of a model's images a target has, pulls, and
// offers to its successor (BlitzScale §4.2).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "messages/scaling/image_chunk.hpp"

namespace troupe {

enum class chunk_outcome : uint8_t {
  good,     ///< the bytes have the expected hash
  damaged,  ///< they have not
  lost      ///< the pull failed
};

/// Chunks are pulled in their order, `window` at a time. A chunk that has arrived is never pulled again; one
/// that is being pulled is not asked for a second time before that pull has ended, because both would write
/// the same memory.
class chunk_transfer {
 public:
  /// `layers`: number of layers, of which the last ones may have no chunk. window: 1 at least. Chunks
  /// [0, here) are here already.
  chunk_transfer(std::vector<image_chunk> chunks, uint32_t layers, uint32_t window, uint32_t here = 0);

  /// The predecessor has chunks [0, n).
  void announce(uint32_t n);
  /// The predecessor is another process from now on, which has announced nothing yet.
  void relink();
  /// The next chunk to pull now; nothing: wait for an announcement or the end of a pull.
  std::optional<uint32_t> next();
  /// The pull of a chunk has ended. Requires: `next` returned it, and no end was told since.
  void ended(uint32_t chunk, chunk_outcome how);

  const image_chunk& operator[](uint32_t chunk) const { return chunks_[chunk]; }
  uint32_t size() const { return static_cast<uint32_t>(chunks_.size()); }
  /// n: chunks [0, n) are here, so that the successor may pull them.
  uint32_t ready() const { return ready_; }
  /// n: layers [0, n) are here.
  uint32_t layers_ready() const;
  bool complete() const { return ready_ == chunks_.size(); }
  uint32_t in_flight() const { return in_flight_; }

  /// Of chunks that were pulled and are here.
  uint64_t bytes_arrived() const { return bytes_arrived_; }
  /// Asked for after an earlier pull of the same chunk.
  uint64_t bytes_repeated() const { return bytes_repeated_; }
  uint64_t damaged() const { return damaged_; }  ///< chunks with a wrong hash

 private:
  enum class state : uint8_t { missing, pulling, here };
  struct progress {
    state is = state::missing;
    bool asked_before = false;
  };

  const std::vector<image_chunk> chunks_;
  const uint32_t layers_, window_;
  std::vector<progress> all_;
  uint32_t announced_ = 0, ready_ = 0, in_flight_ = 0;
  uint32_t from_ = 0;  ///< no chunk before it is missing
  uint64_t bytes_arrived_ = 0, bytes_repeated_ = 0, damaged_ = 0;
};

}  // namespace troupe
