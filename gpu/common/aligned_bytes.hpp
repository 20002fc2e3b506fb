#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace troupe {

/// Uninitialised memory, aligned to a cache line. Movable, not copyable.
class aligned_bytes {
 public:
  aligned_bytes() = default;
  explicit aligned_bytes(size_t size)
      : data_(size ? static_cast<std::byte*>(std::aligned_alloc(64, (size + 63) / 64 * 64)) : nullptr),
        size_(size) {
    if (size && !data_) throw std::bad_alloc{};
  }
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct free_deleter {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte[], free_deleter> data_;
  size_t size_ = 0;
};

}  // namespace troupe
