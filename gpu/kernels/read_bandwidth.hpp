// How fast this machine reads memory: the limit to hold kernels against that read weights once.
#pragma once
#include <cstddef>

#include "gpu/common/aligned_bytes.hpp"
#include "messages/common/time.hpp"

namespace troupe::kernels {

/// A buffer that no cache holds.
class read_bandwidth {
 public:
  /// `bytes`: many times the last level cache. Throws std::bad_alloc.
  explicit read_bandwidth(size_t bytes = size_t{1} << 30);

  /// Bytes per second at which the kernels' threads read, by `c`, `bytes` of it, round and round: as vectors,
  /// from the four places at once that a core needs to keep its memory busy. Another process that runs
  /// meanwhile slows it down: measure as long as what is held against it takes, several times, and take the
  /// best.
  double measure(const clock& c, size_t bytes) const;

 private:
  aligned_bytes buffer_;
};

}  // namespace troupe::kernels
