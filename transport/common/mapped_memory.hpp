#pragma once
#include <cstddef>
#include <span>

namespace troupe {

/// Memory of its own pages, zeroed. It takes them where it is used (transport/common/lazy_memory.hpp).
class mapped_memory {
 public:
  /// Throws std::runtime_error if there is not as much.
  explicit mapped_memory(size_t bytes);
  ~mapped_memory();
  mapped_memory(const mapped_memory&) = delete;
  mapped_memory& operator=(const mapped_memory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

}  // namespace troupe
