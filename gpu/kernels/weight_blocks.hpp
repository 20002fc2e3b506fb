// Weight matrices as packed_weights reads them, made block by block in the order of their bytes. A block is
// small enough to stay in the first cache until it is hashed and stored.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/common/element.hpp"
#include "gpu/kernels/dense.hpp"

namespace troupe::kernels {

/// Some outputs of a weight matrix: [rows, in], row-major.
struct weight_rows {
  const void* weights = nullptr;
  element type = element::f32;
  size_t rows = 0;
};

/// Thread-safe.
class weight_blocks {
 public:
  static constexpr size_t block_inputs = 64;  ///< of 32 outputs
  static constexpr size_t max_block_bytes = block_inputs * packed_weights::panel_outputs * sizeof(float);

  /// The rows of all parts, one after the other, stored as `type`, rounded to nearest. The weights outlive
  /// this.
  weight_blocks(std::vector<weight_rows> parts, element type, size_t in);

  size_t bytes() const { return panels_.bytes(); }
  size_t count() const { return panels_.panels() * panel_blocks_; }
  /// The block with this byte.
  size_t block_at(size_t offset) const;
  size_t offset(size_t block) const;
  /// Makes a block. Returns its size: `max_block_bytes` at most. `to` is aligned to 64.
  size_t make(size_t block, std::byte* to) const;

 private:
  std::vector<weight_rows> parts_;
  packed_weights panels_;  ///< without memory
  size_t block_bytes_;     ///< of all blocks but a panel's last
  size_t panel_blocks_;
};

}  // namespace troupe::kernels
