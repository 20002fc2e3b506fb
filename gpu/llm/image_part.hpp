// A part of a layer's image while it is written: its bytes come in their order, are hashed while they are in
// the first cache, and are stored past the caches.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/common/fast_hash.hpp"

namespace troupe::llm {

class image_part {
 public:
  /// `memory`: of the image's bytes from `begin` on. It outlives this.
  explicit image_part(std::span<std::byte> memory, uint64_t begin = 0)
      : memory_(memory), begin_(begin), next_(begin) {}

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return begin_ + memory_.size(); }

  /// The image's bytes from `at` on, of which those in this part are kept. Bytes between them and the former
  /// ones are zero. Requires: in ascending order.
  void write(uint64_t at, std::span<const std::byte> bytes);
  /// The hash of the part. Other threads see its bytes. Requires: the last byte was written.
  uint64_t finish();

 private:
  void append(std::span<const std::byte> bytes);

  const std::span<std::byte> memory_;
  const uint64_t begin_;
  uint64_t next_;
  fast_hasher hasher_;
};

}  // namespace troupe::llm
