// Pinned memory through which weights go to a device: a buffer is filled while the other one is copied.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace troupe::cuda {

template <class Machine>
class staging_buffers {
 public:
  /// `machine` must outlive this. `bytes`: of a buffer.
  staging_buffers(Machine& machine, size_t bytes) : m_(machine), bytes_(bytes) {}

  /// Returns when the bytes are on the device. Takes memory for the buffers, if they have none. Throws the
  /// machine's exceptions.
  void copy(std::byte* to, std::span<const std::byte> from) {
    for (auto& b : buffers_)
      if (b.size() == 0) b = typename Machine::host_memory(bytes_);
    for (uint32_t which = 0; !from.empty(); which = 1 - which) {
      const size_t some = std::min(bytes_, from.size());
      m_.finish_copy(which);
      std::memcpy(buffers_[which].data(), from.data(), some);
      m_.begin_copy(which, to, buffers_[which].data(), some);
      to += some, from = from.subspan(some);
    }
    m_.finish_copy(0), m_.finish_copy(1);
  }
  /// Gives the memory of the buffers back.
  void release() { buffers_ = {}; }

 private:
  Machine& m_;
  const size_t bytes_;
  std::array<typename Machine::host_memory, 2> buffers_;
};

}  // namespace troupe::cuda
