// Measures this machine's memory read bandwidth, the limit of kernels that read weights once.
#pragma once
#include <cstddef>

#include "gpu/common/aligned_bytes.hpp"
#include "messages/common/time.hpp"

namespace troupe::kernels {

/// Owns a buffer larger than the caches.
class read_bandwidth {
 public:
  /// `bytes`: many times the last level cache. Throws std::bad_alloc.
  explicit read_bandwidth(size_t bytes = size_t{1} << 30);

  /// Bytes per second, by `c`, at which the kernels' threads read `bytes` of the buffer cyclically: as
  /// vectors, in four streams, which a core needs to saturate its memory. Other processes slow it down, so
  /// measure for as long as the compared work takes, several times, and take the best.
  double measure(const clock& c, size_t bytes) const;

 private:
  aligned_bytes buffer_;
};

}  // namespace troupe::kernels
